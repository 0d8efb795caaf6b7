"""A generator of four steps a frame, watched by hooks alone."""

from pace import Pace, arguments, measure
from pipeline import Pipeline

device, seconds, out = arguments()
pace = Pace(device)
measure(Pipeline(pace).frame, pace, seconds, out)
