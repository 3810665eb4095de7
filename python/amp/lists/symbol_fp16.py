"""MXNet's operator lists for the conversion to float16, under its names."""

from . import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_widest_type_cast,
)

FP16_FUNCS = list_lp16_ops("float16")
FP16_FP32_FUNCS = list_lp16_fp32_ops("float16")
FP32_FUNCS = list_fp32_ops("float16")
CONDITIONAL_FP32_FUNCS = list_conditional_fp32_ops("float16")
WIDEST_TYPE_CASTS = list_widest_type_cast("float16")
LOSS_OUTPUT_FUNCTIONS = list_loss_output_functions("float16")
