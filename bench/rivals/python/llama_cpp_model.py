"""A GGUF model in llama.cpp through its C interface, with no more Python than has to be."""

import llama_cpp
import numpy

CONTEXT_TOKENS = 2304


@llama_cpp.llama_log_callback
def _keep_quiet(_level, _text, _user_data):
    pass


class Model:
    """A model with one context; `forget` starts a new text."""

    def __init__(self, path, threads=None, repack=True):
        llama_cpp.llama_log_set(_keep_quiet, None)
        llama_cpp.llama_backend_init()
        options = llama_cpp.llama_model_default_params()
        options.n_gpu_layers = 0
        options.use_extra_bufts = repack
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), options)
        if not self._model:
            raise SystemExit(f"{path}: llama.cpp cannot load it")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = options.n_batch = CONTEXT_TOKENS
        if threads:
            options.n_threads = options.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, options)
        if not self._context:
            raise SystemExit(f"{path}: llama.cpp cannot make a context")
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self._vocabulary_len = llama_cpp.llama_vocab_n_tokens(self._vocabulary)

    def forget(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)

    def tokenize(self, text):
        """The ids of the text, with the special tokens that the file wants around it."""
        data = text.encode()
        ids = (llama_cpp.llama_token * (len(data) + 8))()
        count = llama_cpp.llama_tokenize(
            self._vocabulary, data, len(data), ids, len(ids), True, False
        )
        return list(ids[:count])

    def bos(self):
        """The token that the file wants in front of every text, if any."""
        if llama_cpp.llama_vocab_get_add_bos(self._vocabulary):
            return llama_cpp.llama_vocab_bos(self._vocabulary)
        return None

    def next_token(self, ids):
        """Appends the tokens and gives the likeliest one to follow."""
        array = (llama_cpp.llama_token * len(ids))(*ids)
        self._decode(llama_cpp.llama_batch_get_one(array, len(ids)))
        logits = llama_cpp.llama_get_logits_ith(self._context, -1)
        return int(numpy.ctypeslib.as_array(logits, (self._vocabulary_len,)).argmax())

    def logits(self, ids):
        """The logits of every position of a new text, [positions, vocabulary]."""
        self.forget()
        batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for position, token in enumerate(ids):
            batch.token[position] = token
            batch.pos[position] = position
            batch.n_seq_id[position] = 1
            batch.seq_id[position][0] = 0
            batch.logits[position] = True
        self._decode(batch)
        llama_cpp.llama_batch_free(batch)
        logits = llama_cpp.llama_get_logits(self._context)
        return numpy.ctypeslib.as_array(logits, (len(ids), self._vocabulary_len)).copy()

    def _decode(self, batch):
        status = llama_cpp.llama_decode(self._context, batch)
        if status != 0:
            raise RuntimeError(f"llama.cpp: llama_decode gave {status}")
