"""Writes a GGUF file anew with its matrices in another type; vectors stay float32.

What `tallow quantize IN OUT TYPE` does, made with the `gguf` package. Types: F16, Q8_0.
"""

import argparse

import gguf
import numpy

FILE_TYPES = {"F16": gguf.LlamaFileType.MOSTLY_F16, "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}
WRITTEN_BY_ITSELF = {"general.architecture", "general.file_type"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("type", choices=FILE_TYPES)
    arguments = parser.parse_args()

    reader = gguf.GGUFReader(arguments.source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(arguments.target, architecture)
    for name, field in reader.fields.items():
        if name in WRITTEN_BY_ITSELF or name.startswith("GGUF."):
            continue
        item_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], item_type)
    writer.add_file_type(FILE_TYPES[arguments.type])
    matrix_type = gguf.GGMLQuantizationType[arguments.type]
    for tensor in reader.tensors:
        weight = gguf.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        is_matrix = len(tensor.shape) > 1
        data_type = matrix_type if is_matrix else gguf.GGMLQuantizationType.F32
        writer.add_tensor(tensor.name, gguf.quantize(weight, data_type), raw_dtype=data_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
