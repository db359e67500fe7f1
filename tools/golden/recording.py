#!/usr/bin/env python3
"""Writes test/data/recording.edf by EDFlib, and recording.json with what its reader says of it. test/tools/eeg.py compares; it needs no other tool.

    pip install pyedflib && tools/golden/recording.py test/data
"""
import datetime
import json
import sys

import numpy as np
import pyedflib

random = np.random.default_rng(3)
SECONDS, RATE = 44, 64
path = f"{sys.argv[1]}/recording.edf"
writer = pyedflib.EdfWriter(path, 3, file_type=pyedflib.FILETYPE_EDFPLUS)
writer.setStartdatetime(datetime.datetime(2026, 1, 1))
writer.setSignalHeaders([
    {"label": name, "dimension": unit, "sample_frequency": rate, "physical_min": low, "physical_max": high, "digital_min": -32768, "digital_max": 32767,
     "transducer": "", "prefilter": ""}
    for name, unit, rate, low, high in (("Fz", "uV", RATE, -200, 200), ("Temp", "degC", 4, 20, 45), ("Cz", "uV", RATE, -300, 200))])
# Trials of a second, of two kinds: a rhythm in the first or in the third signal.
noise = random.normal(0, 20, (2, SECONDS * RATE))
onsets = [1 + i * 1.0625 for i in range(40)]
for i, onset in enumerate(onsets):
    begin = round(onset * RATE)
    noise[i % 2, begin:begin + RATE] += 60 * np.sin(2 * np.pi * (8 * np.arange(RATE) / RATE + random.uniform()))
writer.writeSamples([noise[0], 36.5 + .01 * np.arange(SECONDS * 4) % 1, noise[1]])
for i, onset in enumerate(onsets):
    writer.writeAnnotation(onset, 1 if i % 4 else -1, ("links", "rechts über")[i % 2])
writer.close()

reader = pyedflib.EdfReader(path)
times, durations, texts = reader.readAnnotations()
told = {
    "signals": [{"name": reader.getLabel(i), "unit": reader.getPhysicalDimension(i), "rate": reader.getSampleFrequency(i), "samples": len(reader.readSignal(i)),
                 "first": reader.readSignal(i)[:5].tolist(), "sum": float(reader.readSignal(i).sum())} for i in range(3)],
    "annotations": [[float(t), None if float(d) < 0 else float(d), str(s)] for t, d, s in zip(times, durations, texts)],
}
with open(f"{sys.argv[1]}/recording.json", "w") as file:
    json.dump(told, file, indent=1, ensure_ascii=False)
    file.write("\n")
