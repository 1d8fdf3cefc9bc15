import sys

from benchmarks.calibration.calibrate import main

sys.exit(main())
