"""MXNet's operator lists for the conversion to bfloat16, under its names."""

from . import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)

BF16_FUNCS = list_lp16_ops("bfloat16")
BF16_FP32_FUNCS = list_lp16_fp32_ops("bfloat16")
BF16_USE_FP32_PARAMS = list_lp16_use_fp32_params("bfloat16")
FP32_FUNCS = list_fp32_ops("bfloat16")
CONDITIONAL_FP32_FUNCS = list_conditional_fp32_ops("bfloat16")
WIDEST_TYPE_CASTS = list_widest_type_cast("bfloat16")
LOSS_OUTPUT_FUNCTIONS = list_loss_output_functions("bfloat16")
