#!/usr/bin/env python3
"""Writes test/data/recordings: small files in EDF and BDF by PyPI's edfio (0.4.18 was used), and what edfio reads from them."""
import json
import pathlib

import edfio
import numpy

TARGET = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "data" / "recordings"
DRAW = numpy.random.default_rng(4)


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    seconds, expected = 3, {}
    notes = [edfio.EdfAnnotation(0, None, "eyes open"), edfio.EdfAnnotation(1.25, .5, "blink \u00e9"), edfio.EdfAnnotation(2, 1, "rest")]
    for name, annotations in (("plain.edf", None), ("annotated.edf", notes), ("annotated.bdf", notes)):
        wide = name.endswith("bdf")
        file, signal, read = (edfio.Bdf, edfio.BdfSignal, edfio.read_bdf) if wide else (edfio.Edf, edfio.EdfSignal, edfio.read_edf)
        signals = [signal(DRAW.normal(0, 40, 32 * seconds), 32, label="EEG Fpz-Cz", physical_dimension="uV", physical_range=(-200, 200)),
                   signal(DRAW.uniform(30, 40, 4 * seconds), 4, label="Temp rectal", physical_dimension="degC", physical_range=(20, 45), digital_range=(-2048, 2047))]
        file(signals, annotations=annotations, data_record_duration=1).write(TARGET / name)
        found = read(TARGET / name)
        expected[name] = {"signals": [{"label": s.label, "unit": s.physical_dimension, "rate": s.sampling_frequency, "samples": s.data.tolist()} for s in found.signals],
                          "annotations": [[a.onset, a.duration, a.text] for a in found.annotations]}
    (TARGET / "expected.json").write_text(json.dumps(expected) + "\n")


main()
