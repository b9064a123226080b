#!/usr/bin/env python3
"""Writes a checkpoint folder's encoder in the formats of the benchmark's peers.

    export.py MODEL_FOLDER OUT_FOLDER

    OUT_FOLDER/plain.onnx    as torch exports it: input_ids, attention_mask [batch, tokens] int64 -> last_hidden_state
    OUT_FOLDER/fused.onnx    the same after onnxruntime's transformer optimiser: faster for one short text
    OUT_FOLDER/ctranslate2/  ctranslate2's converter, float32

Files that are there already are kept. A format that cannot be made here is reported and left out.
"""

import pathlib
import shutil
import sys
from typing import Any, Callable


def export_plain(model_folder: pathlib.Path, out: pathlib.Path) -> None:
    import torch
    import transformers

    bert = transformers.AutoModel.from_pretrained(model_folder, attn_implementation="eager", dtype=torch.float32).eval()

    class States(torch.nn.Module):
        """The encoder as a function of two tensors."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    example = (torch.full((2, 12), 1000), torch.ones((2, 12), dtype=torch.int64))
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(
        States(),
        example,
        str(out),
        dynamo=False,
        opset_version=17,
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]},
    )


def export_fused(model_folder: pathlib.Path, out: pathlib.Path) -> None:
    import json

    from onnxruntime.transformers import optimizer

    config = json.loads((model_folder / "config.json").read_text(encoding="utf-8"))
    fused = optimizer.optimize_model(
        str(out.with_name("plain.onnx")),
        model_type="bert",
        num_heads=config["num_attention_heads"],
        hidden_size=config["hidden_size"],
        opt_level=1,
    )
    fused.save_model_to_file(str(out))


def export_ctranslate2(model_folder: pathlib.Path, out: pathlib.Path) -> None:
    import ctranslate2

    ctranslate2.converters.TransformersConverter(str(model_folder)).convert(str(out))


EXPORTS: dict[str, Callable[[pathlib.Path, pathlib.Path], None]] = {
    "plain.onnx": export_plain,
    "fused.onnx": export_fused,
    "ctranslate2": export_ctranslate2,
}


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    model_folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for name, export in EXPORTS.items():
        target, unfinished = out / name, out / f"unfinished-{name}"
        if target.exists():
            continue
        try:
            export(model_folder, unfinished if name != "fused.onnx" else target)
            if unfinished.exists():
                unfinished.rename(target)
        except Exception as error:  # the peer is then left out, and the reader told
            shutil.rmtree(unfinished, ignore_errors=True)
            print(f"{name} could not be made: {type(error).__name__}: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
