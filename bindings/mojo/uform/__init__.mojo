"""Text encoders that write into arenas: the engine `uform`, over its C interface.

`Library` loads the engine, `Model` a folder of weights, `Arena` is where the results of a call land, and `Encoded`
views them there:

```mojo
from uform import Arena, Library, Model, Outputs, Scalar, Tape

def main() raises:
    var library = Library()
    var model = Model.load(library, "models/all-MiniLM-L6-v2")
    var arena = Arena(library)
    var tape = Tape(["one text", "another"])
    var encoded = model.text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var values = encoded.embeddings.values[DType.float32]()  # [texts, dimensions], where they lie
    print(len(encoded.embeddings), encoded.embeddings.columns(), values[0])
```

Whatever can fail raises a `Status`. The types follow the same calls in C++, C and Rust.
"""

from .arena import Arena
from .deferred import Deferred
from .executor import Executor
from .library import Library
from .model import BoundModel, DeferredModel, Model, Similarity
from .options import (
    Activation,
    Cancellation,
    ClassifyOptions,
    EncodeOptions,
    InstructionSet,
    LoadOptions,
    Normalize,
    RerankOptions,
    Role,
    Truncate,
)
from .outputs import Outputs
from .residency import ArenaDescription, Residency
from .results import Encoded, Pin, RaggedRows, Rows
from .scalar import Scalar
from .status import Status
from .tape import Tape, TapeView
from .tokenizer import Tokenizer
