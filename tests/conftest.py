"""One thread a test process: on small models threads cost more than they give."""

import torch

torch.set_num_threads(1)
