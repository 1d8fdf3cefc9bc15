"""Turns, phases and steps: which waits and bodies belong together.

Nobody tells us where a training loop is. What can be seen is each request for a batch:
which iterator, from which frame and instruction. A *turn* of a loop begins with such a
request; its *body*, the stage `step`, lasts from the end of the wait to the loop's next
request. Loops form a stack per thread: a loop that begins in the body of another is
nested in it.
"""

import dis
import functools
import sys
import threading
from types import CodeType, FrameType
from typing import Any

from . import _native
from ._guard import guarded
from ._native import begin, cancel, end, set_context

STEP = _native.stage("step")
STEPS = _native.StepTracker.of_process()
LOOP = "loop"
"""Requester of steps that loops make: a body with an optimizer's step is one."""
OPTIMIZERS = "optimizers"
"""Requester where there is no loop: a round of all optimizers is one."""

_GENERATOR = 0x20  # CO_GENERATOR of the code's flags
_JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
_LIBRARIES = ("torch.utils.data.", "torchdata.")


class Asker:
    """What a loop asks for its next batch: a pass, or a loader made of several."""

    __slots__ = ("__weakref__", "ended")

    def __init__(self) -> None:
        self.ended = False


class Pass(Asker):
    """One pass over a loader, as the process that owns it sees it."""

    __slots__ = ("batches", "last_received", "number", "phase", "reference", "waited")

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.batches = 0
        """Batches delivered so far."""
        self.last_received = -1
        """Index of the batch that came in last."""
        self.waited = False
        self.phase: str | None = None
        """Phase that was told to the recorder; a name of the user is not replaced."""
        self.reference: Any = None
        """Weak reference that tells the death of the iterator."""


class Loop:
    """A loop that is running on a thread."""

    __slots__ = (
        "asked",
        "askers",
        "body",
        "body_stage",
        "context",
        "counts",
        "extra_stage",
        "key",
        "passes",
        "place_id",
        "sites",
        "stepped",
        "touched",
    )

    def __init__(self, key: tuple[CodeType, int], place_id: int) -> None:
        self.key = key
        self.place_id = place_id
        self.sites: dict[int, int] = {}
        """Where its askers are asked, frame -> instruction: generators between."""
        self.askers: set[Asker] = set()
        self.asked: set[Asker] = set()
        """Askers that were asked in this turn."""
        self.passes: list[Pass] = []
        """Passes that were waited for in this turn."""
        self.body = 0
        """Token of the open body."""
        self.body_stage = STEP
        self.context = (-1, -1, -1)
        self.extra_stage = 0
        """Stage recorded inside `step`, for a body that the user gave another name."""
        self.counts = False
        """Whether each body is a training step (a program without an optimizer)."""
        self.touched = False
        """Whether backward or an optimizer was called in this turn's body."""
        self.stepped = False


class Turn:
    """A turn that begins and ends by a call, not by a wait; see `begin_turn`."""

    __slots__ = ("loop", "place", "served")

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.place: tuple[Pass, int] | None = None
        self.served = False


class _Thread(threading.local):
    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.stack: list[Loop] = []
        self.turn: Turn | None = None
        self.waiting = 0
        """Waits in progress; more than 1 where reading a batch reads another loader."""
        self.fetching = 0
        """Fetches in progress, in a worker or in a wait."""
        self.receiving: Pass | None = None
        """Pass whose batches this thread may be unpickling."""
        self.received = -1
        """Index of the batch that it unpickled last."""
        self.in_pin_thread = False
        self.pinning = False
        self.loops_ran = False
        """Whether a loop ran since optimizers stepped without one."""
        self.optimizers: dict[int, int] = {}
        """Tokens of the optimizers that are making their step."""
        self.phases: list[str] = []
        """Phases that the user is in, innermost last."""
        self.bodies = threading.get_ident() == threading.main_thread().ident
        """Whether bodies are recorded: a thread that only prefetches has none."""


thread = _Thread()
_rounds: dict[int, int] = {}
"""Steps of each optimizer, by its id, while there is no loop."""


def forget() -> None:
    """In a forked child: the loops were the parent's."""
    thread.forget()
    _rounds.clear()


def steps_done() -> int:
    """Training steps that this process has completed."""
    return STEPS.current_step()


# --- waits ----------------------------------------------------------------------------
@guarded
def begin_wait(pass_: Pass, frame: FrameType) -> Loop | None:
    """
    A batch of a pass is asked for.

    :param pass_: the pass.
    :param frame: who asks.
    :return: the loop whose turn this is, for `end_wait`; None: of no loop, as it
        happens while another batch is being read.
    """
    if not pass_.waited or thread.phases:
        note_wait(pass_)
    if thread.waiting:
        return None
    turn = thread.turn
    if turn is not None:
        turn.served = True
        turn.loop.passes.append(pass_)
        return turn.loop
    loop = _find_or_push(pass_, frame)
    loop.passes.append(pass_)
    return loop


@guarded
def note_wait(pass_: Pass) -> None:
    """
    Tell the recorder who waits for a pass, and in which phase of the user.

    :param pass_: the pass.
    """
    if not pass_.waited:
        pass_.waited = True
        _native.iterator_first_wait(pass_.number)
    if thread.phases and pass_.phase != thread.phases[-1]:
        _set_phase(pass_, thread.phases[-1])


@guarded
def end_wait(loop: Loop | None, pass_: Pass, batch: int) -> None:
    """
    A batch was delivered: the body begins.

    :param loop: what `begin_wait` returned.
    :param pass_: the pass.
    :param batch: index of the delivered batch.
    """
    if loop is None:
        return
    if thread.turn is not None:
        thread.turn.place = thread.turn.place or (pass_, batch)
    elif len(loop.passes) > 1:  # zipped: the body is known by the turn's first wait
        _open_body(loop, *loop.context[:2])
    else:
        _open_body(loop, pass_.number, batch)


@guarded
def exhausted(asker: Asker) -> None:
    """
    There are no more batches: its loop is over, unless it goes on with another loader.

    :param asker: whom the loop asked.
    """
    _note_end(asker, exhausted=True)
    for index in range(len(thread.stack) - 1, -1, -1):
        loop = thread.stack[index]
        if asker in loop.askers:
            loop.askers.discard(asker)
            loop.asked.discard(asker)
            if loop.asked:  # zipped: whether the others go on is theirs to show
                _close_from(index + 1)
            else:
                _close_from(index)
            return


@guarded
def left(asker: Asker) -> None:
    """
    A pass was left before its end: its iterator died, or was begun anew.

    :param asker: the pass.
    """
    if asker.ended:
        return
    _note_end(asker, exhausted=False)
    for index in range(len(thread.stack) - 1, -1, -1):
        loop = thread.stack[index]
        if asker in loop.askers:
            loop.askers.discard(asker)
            loop.asked.discard(asker)
            if not loop.askers:
                _close_from(index)
            return


# --- turns that a call begins and ends ------------------------------------------------
@guarded
def begin_turn(asker: Asker, frame: FrameType) -> Turn | None:
    """
    A loop asks something that in turn asks loaders: one turn, however many waits.

    :param asker: whom the loop asks.
    :param frame: who asks.
    :return: for `end_turn`; None: it is part of another turn or of a wait.
    """
    if thread.waiting or thread.turn is not None:
        return None
    turn = Turn(_find_or_push(asker, frame))
    thread.turn = turn
    return turn


@guarded
def end_turn(turn: Turn, delivered: bool) -> None:
    """
    The asked one answers: the body begins, if there was a batch.

    :param turn: what `begin_turn` returned.
    :param delivered: whether there was one.
    """
    thread.turn = None
    if delivered and turn.place is not None:
        pass_, batch = turn.place
        _open_body(turn.loop, pass_.number, batch)


# --- what happens in a body -----------------------------------------------------------
@guarded
def training_seen() -> None:
    """A backward or optimizer call: the innermost loop's passes are training."""
    if thread.waiting or thread.fetching:
        return
    thread.bodies = True
    if not thread.stack:
        return
    loop = thread.stack[-1]
    if loop.touched:
        return
    if len(thread.stack) > 1:  # an inner loop may have been left without a trace
        _close_left(sys._getframe(1))
        if not thread.stack:
            return
        loop = thread.stack[-1]
    loop.touched = True
    for pass_ in loop.passes:
        if pass_.phase is None:
            _set_phase(pass_, "train")


@guarded
def make_training(loop: Loop) -> None:
    """
    Let each body of a loop be a training step, in a program without optimizers.

    :param loop: the loop.
    """
    loop.counts = True
    thread.bodies = True
    for pass_ in loop.passes:
        if pass_.phase is None:
            _set_phase(pass_, "train")


@guarded
def optimizer_stepped(optimizer: object) -> None:
    """
    An optimizer made its step.

    :param optimizer: which; in a program without a loop over a loader a round of all
        optimizers is a step.
    """
    if thread.waiting or thread.fetching:
        return
    training_seen()
    if thread.stack:
        thread.stack[-1].stepped = True
        return
    newest = max(_rounds.values(), default=0)
    # One that was not seen before takes part in the round that is going on.
    count = _rounds.get(id(optimizer), max(newest - 1, 0)) + 1
    _rounds[id(optimizer)] = count
    if count > newest:
        if thread.loops_ran:  # and counted
            thread.loops_ran = False
            STEPS.init_step_count(OPTIMIZERS)
        STEPS.increment_step(OPTIMIZERS)
        _native.turn_ended()


# --- inside ---------------------------------------------------------------------------
def _set_phase(pass_: Pass, name: str) -> None:
    pass_.phase = name
    _native.iterator_phase(pass_.number, name)


def _note_end(asker: Asker, exhausted: bool) -> None:
    if not asker.ended:
        asker.ended = True
        if isinstance(asker, Pass):
            _native.iterator_ended(asker.number, exhausted)


def _open_body(loop: Loop, number: int, batch: int) -> None:
    loop.context = (number, batch, steps_done())
    set_context(*loop.context)
    loop.body = begin(loop.body_stage)
    if loop.extra_stage:
        begin(loop.extra_stage)  # ends with the body


def _end_body(loop: Loop) -> None:
    if not loop.body:
        return
    if thread.bodies:
        end(loop.body)
    else:
        cancel(loop.body)
    loop.body = 0
    if loop.stepped or (loop.counts and thread.stack[0] is loop):
        STEPS.increment_step(LOOP)
    loop.stepped = False
    _native.turn_ended()


def _close_from(index: int) -> None:
    """Close the loops from the innermost to that at `index`."""
    stack = thread.stack
    if len(stack) <= index:
        return
    while len(stack) > index:
        _end_body(stack[-1])
        stack.pop()
    if stack:
        set_context(*stack[-1].context)
    else:
        set_context(-1, -1, steps_done())


def _find_or_push(asker: Asker, frame: FrameType) -> Loop:
    """The loop that asks, its new turn begun."""
    frame = _outside_libraries(frame)
    place = _consumer(frame)
    key = (place.f_code, place.f_lasti)
    index = len(thread.stack) - 1
    while index >= 0:
        loop = thread.stack[index]
        if asker in loop.askers:
            if loop.key == key or _is_of_body(loop, key, place):
                break
            loop.askers.discard(asker)  # it is asked elsewhere now
            loop.asked.discard(asker)
            if not loop.askers:
                _close_from(index)
        elif _is_zipped(loop, key, place, frame) or _is_of_body(loop, key, place):
            break
        index -= 1
    if index < 0:
        _close_left(frame)
        if not thread.stack:  # others may have counted since the last loop
            STEPS.init_step_count(LOOP)
            thread.loops_ran = True
        loop = Loop(key, id(place))
        thread.stack.append(loop)
    else:
        _close_from(index + 1)
        if asker in loop.asked or loop.touched or not loop.asked:
            _end_body(loop)
            loop.asked.clear()
            loop.passes.clear()
            loop.touched = False
        elif loop.body:  # zipped: the turn's body begins after its last wait
            cancel(loop.body)
            loop.body = 0
    loop.place_id = id(place)
    loop.sites[id(frame)] = frame.f_lasti
    loop.askers.add(asker)
    loop.asked.add(asker)
    return loop


def _is_zipped(
    loop: Loop, key: tuple[CodeType, int], place: FrameType, frame: FrameType
) -> bool:
    """Whether another asker at the same place makes one turn with those of a loop."""
    return (
        loop.key == key
        and loop.place_id == id(place)
        # One generator that asks at two places has two loops, one in the other.
        and loop.sites.get(id(frame), frame.f_lasti) == frame.f_lasti
    )


def _is_of_body(loop: Loop, key: tuple[CodeType, int], place: FrameType) -> bool:
    """Whether a request lies in the very body of a loop, as a `next()` in a `for`."""
    if loop.place_id != id(place) or loop.key[0] is not key[0]:
        return False
    extent, of_loop = _loop_extent(*key), _loop_extent(*loop.key)
    return extent is not None and of_loop is not None and extent[0] == of_loop[0]


def _close_left(frame: FrameType) -> None:
    """Close loops that were left although their iterators live on."""
    stack = thread.stack
    running: dict[int, FrameType] | None = None
    while stack:
        loop = stack[-1]
        if all(asker.ended for asker in loop.askers):
            _close_from(len(stack) - 1)
            continue
        extent = _loop_extent(*loop.key)
        if extent is None:
            return
        if running is None:
            running = {}
            at: FrameType | None = frame
            while at is not None:
                running[id(at)] = at
                at = at.f_back
        place = running.get(loop.place_id)
        if (
            place is not None
            and place.f_code is loop.key[0]
            and extent[0] <= place.f_lasti < extent[1]
        ):
            return
        _close_from(len(stack) - 1)


@functools.cache
def _loop_extent(code: CodeType, instruction: int) -> tuple[int, int] | None:
    """
    The instructions of the innermost loop, of either kind, that an instruction is in.

    None where it is in none: its function is called once for each batch.
    """
    ends: dict[int, int] = {}  # first instruction of a loop -> its last
    for found in dis.get_instructions(code):
        if found.offset == instruction and found.opname.startswith("FOR_ITER"):
            return (instruction, int(found.argval))
        # A jump back makes a loop; `await` and `yield from` have one of their own.
        if (
            found.opcode in _JUMPS
            and int(found.argval) <= found.offset
            and not found.opname.endswith("NO_INTERRUPT")
        ):
            ends[int(found.argval)] = found.offset
    around = [first for first in ends if first <= instruction <= ends[first]]
    return (max(around), ends[max(around)] + 1) if around else None


def _consumer(frame: FrameType) -> FrameType:
    """Who runs the generator that a frame is, or the frame itself."""
    while frame.f_code.co_flags & _GENERATOR and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _outside_libraries(frame: FrameType) -> FrameType:
    """The frame outside the data loading library itself."""
    at: FrameType | None = frame
    while at is not None:
        if not str(at.f_globals.get("__name__")).startswith(_LIBRARIES):
            return at
        at = at.f_back
    return frame
