"""Makes the demo's data set: small periodic metals with energies and forces.

The structures are random fcc solid solutions of a few metals, displaced from their
lattice sites, as a training for an interatomic potential sees them. Energies and forces
come from ASE's effective medium theory: no download, and a second or two of time.
"""

import argparse
from pathlib import Path

import ase.build
import ase.calculators.emt
import ase.calculators.singlepoint
import ase.io
import numpy as np

METALS = ("Cu", "Ag", "Au", "Ni", "Pd", "Pt")
LATTICE_CONSTANT_ANGSTROM = 4.0


def make_structure(rng: np.random.Generator) -> ase.Atoms:
    """
    One displaced cell of 16 to 48 atoms, with its energy and forces.

    :param rng: source of all randomness of the structure.
    :return: the structure, its results stored so that extended XYZ keeps them.
    """
    cell = ase.build.bulk(
        "Cu", "fcc", a=LATTICE_CONSTANT_ANGSTROM * rng.uniform(0.96, 1.04), cubic=True
    )
    atoms = cell.repeat((2, 2, int(rng.integers(1, 4))))
    kinds = rng.choice(METALS, size=int(rng.integers(1, 4)), replace=False)
    atoms.set_chemical_symbols(rng.choice(kinds, size=len(atoms)))
    atoms.positions += rng.normal(scale=0.1, size=atoms.positions.shape)

    atoms.calc = ase.calculators.emt.EMT()
    energy = atoms.get_potential_energy()
    forces = atoms.get_forces()
    atoms.calc = ase.calculators.singlepoint.SinglePointCalculator(
        atoms, energy=energy, forces=forces
    )
    return atoms


def main() -> None:
    """Write the structures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="extended XYZ file to write")
    parser.add_argument("--count", type=int, default=200, help="structures to make")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    arguments = parser.parse_args()

    rng = np.random.default_rng(arguments.seed)
    structures = [make_structure(rng) for _ in range(arguments.count)]
    ase.io.write(arguments.output, structures, format="extxyz")
    atoms = sum(len(structure) for structure in structures)
    print(f"{arguments.output}: {len(structures)} structures, {atoms} atoms")


if __name__ == "__main__":
    main()
