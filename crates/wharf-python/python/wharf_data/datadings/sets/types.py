"""Functions that make samples: dicts with the given keys, in this order."""

# ruff: noqa: N802

from __future__ import annotations

from typing import Any


def ADE20kData(key: Any, image: Any, label: Any, label_image: Any, parts_images: Any) -> dict[str, Any]:
    return locals()


def ANP460Data(key: Any, image: Any, experiments: Any, anp: Any, type: Any) -> dict[str, Any]:
    return locals()


def ANP460Experiment(locations: Any, map: Any, answer: Any, duration: Any) -> dict[str, Any]:
    return locals()


def ImageClassificationData(key: Any, image: Any, label: Any) -> dict[str, Any]:
    return locals()


def ImageCoarseClassificationData(key: Any, image: Any, label: Any, coarse_label: Any) -> dict[str, Any]:
    return locals()


def ImageData(key: Any, image: Any) -> dict[str, Any]:
    return locals()


def ImageDisparitySegmentationData(key: Any, image: Any, label_image: Any, disparity_image: Any) -> dict[str, Any]:
    return locals()


def ImageInstanceSegmentationData(key: Any, image: Any, label_image: Any, instance_image: Any) -> dict[str, Any]:
    return locals()


def ImageNet21kData(key: Any, image: Any, label: Any, label_tree: Any) -> dict[str, Any]:
    return locals()


def ImageSegmentationData(key: Any, image: Any, label_image: Any) -> dict[str, Any]:
    return locals()


def MaskedImageSegmentationData(key: Any, image: Any, label_image: Any, mask: Any) -> dict[str, Any]:
    return locals()


def Places2017Data(key: Any, image: Any, label: Any, label_image: Any, instance_image: Any, boundary: Any) -> dict[str, Any]:
    return locals()


def SaliencyData(key: Any, image: Any, experiments: Any) -> dict[str, Any]:
    return locals()


def SaliencyExperiment(locations: Any, map: Any) -> dict[str, Any]:
    return locals()


def SaliencyTimeseriesExperiment(locations: Any, map: Any, timestamps: Any, fixations: Any) -> dict[str, Any]:
    return locals()
