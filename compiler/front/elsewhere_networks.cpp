// Names of networks, losses, metrics and their training in PyTorch, Keras and scikit-learn.
#include "compiler/front/elsewhere_tables.h"

namespace cairn::compiler {

namespace {

constexpr std::string_view kPadded =
    "there are no packed sequences: (unroll lstm p x 0) goes through all steps; the last one of each row, with n "
    "steps in row b, is (index-points (car outs) (arange b 'i64) (- n 1)) of outs, unroll's value";
constexpr std::string_view kLoss = "write (cross-entropy-loss logits indices)";
constexpr std::string_view kTraining =
    "a step of training is (checkpoint-*j-update! loss p 1 rule state): a list of the loss, new parameters and a new state";
constexpr std::string_view kModes = "a layer has (layer-train layer p statistics x) and (layer-test layer p statistics x)";
constexpr std::string_view kSequence = "write (in-sequence layer ...), and (layer-parameters layer) for its parameters";
constexpr std::string_view kBatchNorm =
    "write (batch-norm p statistics x), with p from (new-batch-norm channels), or (batch-norm-layer channels)";
constexpr std::string_view kRates = "rates are procedures: make the rule of each step, (adam ((step-rate rate factor every) n))";
constexpr std::string_view kOneCycle = "write (warm-up more (cosine-rate rate steps)), a procedure from the number of a step to "
                                       "a rate, which rises for so many steps";
constexpr std::string_view kAverages =
    "write (parameters-average average p decay); a decay of (/ n (+ n 1)) gives the mean of all";
constexpr std::string_view kPrecision =
    "write (/ (diag m) (sum m 0)), one for each class, with m from (confusion-matrix logits classes)";
constexpr std::string_view kRecall =
    "write (/ (diag m) (sum m 1)), one for each class, with m from (confusion-matrix logits classes)";
constexpr std::string_view kF1 =
    "write (/ (* 2 (diag m)) (+ (sum m 0) (sum m 1))), one for each class, with m from (confusion-matrix logits classes)";
constexpr std::string_view kAuc =
    "write (mean (> (unsqueeze a 1) b)), with the scores a of what is positive and b of what is not";

constexpr Elsewhere kNetworksElsewhere[] = {
    {"label_smoothing", "write (cross-entropy-loss-with options logits classes), with an option of smoothing"},
    {"ignore_index", "write (cross-entropy-loss-with options logits classes), with an option to ignore a class"},
    {"Linear", "write (linear p x), with p from (new-linear inputs outputs), or (linear-layer inputs outputs)"},
    {"Conv2d", "write (convolution p x), with p from (new-convolution inputs outputs window), or (convolution-layer inputs "
               "outputs window)"},
    {"Dropout", "write (dropout t probability), or (dropout-layer probability)"},
    {"Embedding", "write (embedding weights indices)"},
    {"relu", "write (ReLU t)"},
    {"leaky_relu", "write (LeakyReLU t)"},
    {"leaky-relu", "write (LeakyReLU t)"},
    {"gelu", "write (GeLU t)"},
    {"silu", "write (SiLU t)"},
    {"swish", "write (SiLU t)"},
    {"elu", "write (ELU t)"},
    {"log_softmax", "write (log-softmax t)"},
    {"conv1d", "write (convolve t weights strides padding)"},
    {"conv2d", "write (convolve t weights strides padding)"},
    {"conv3d", "write (convolve t weights strides padding)"},
    {"conv", "write (convolve t weights strides padding)"},
    {"max_pool2d", "write (max-pool t sizes)"},
    {"avg_pool2d", "write (average-pool t sizes)"},
    {"cross_entropy", kLoss},
    {"nll_loss", kLoss},
    {"mse_loss", "write (mean-squared-error a b)"},
    {"mse", "write (mean-squared-error a b)"},
    {"l1_loss", "write (mean-absolute-error a b)"},
    {"mae", "write (mean-absolute-error a b)"},
    {"smooth_l1_loss", "write (huber-loss a b)"},
    {"kl_div", "write (kl-divergence logits probabilities)"},
    {"r2_score", "write (r-squared predictions targets)"},
    {"CrossEntropyLoss", kLoss},
    {"softmax_cross_entropy", kLoss},
    {"MSELoss", "write (mean-squared-error a b)"},
    {"bce_loss", "write (binary-cross-entropy a b), or (binary-cross-entropy-with-logits a b)"},
    {"BCEWithLogitsLoss", "write (binary-cross-entropy-with-logits a b)"},
    {"SGD", "write (sgd rate), a rule for (checkpoint-*j-update! loss p 1 rule state)"},
    {"AdamW", "write (adamw rate), a rule for (checkpoint-*j-update! loss p 1 rule state)"},
    {"optim", kTraining},
    {"optimizer", kTraining},
    {"zero_grad", kTraining},
    {"step", kTraining},
    {"fit", kTraining},
    {"train", kModes},
    {"Sequential", kSequence},
    {"Module", kSequence},
    {"ModuleList", kSequence},
    {"BatchNorm1d", kBatchNorm},
    {"BatchNorm2d", kBatchNorm},
    {"BatchNorm", kBatchNorm},
    {"LayerNorm", "write (layer-norm p x), with p from (new-layer-norm width), or (layer-norm-layer width)"},
    {"GroupNorm", "write (group-norm groups p x), with p from (new-group-norm channels)"},
    {"LSTM", "write (unroll lstm p x 0), with p from (new-lstm inputs width)"},
    {"pack_padded_sequence", kPadded},
    {"pad_packed_sequence", kPadded},
    {"GRU", "write (unroll gru p x 0), with p from (new-gru inputs width)"},
    {"RNN", "write (unroll rnn p x 0), with p from (new-rnn inputs width)"},
    {"MaxPool2d", "write (max-pool t sizes)"},
    {"AvgPool2d", "write (average-pool t sizes)"},
    {"AdaptiveAvgPool2d", "write (adaptive-average-pool t sizes)"},
    {"adaptive_avg_pool2d", "write (adaptive-average-pool t sizes)"},
    {"ConvTranspose2d", "write (transpose-convolve t weights strides padding)"},
    {"conv_transpose2d", "write (transpose-convolve t weights strides padding)"},
    {"Upsample", "write (upsample-nearest t factors), or (interpolate t factors mode)"},
    {"LogSoftmax", "write (log-softmax t)"},
    {"clip_grad_norm_",
     "take the gradient by checkpoint-*j, and hand it on: (apply-rule rule p (clip-by-norm most gradient) state)"},
    {"clip_by_global_norm",
     "take the gradient by checkpoint-*j, and hand it on: (apply-rule rule p (clip-by-norm most gradient) state)"},
    {"global_norm", "write (parameters-norm gradient)"},
    {"clip_grad_value_", "write (clip-by-value most rule), the rule of an update"},
    {"lr_scheduler", kRates},
    {"StepLR", kRates},
    {"CosineAnnealingLR", "write (adam ((cosine-rate rate steps) n)), the rule of step n"},
    {"kaiming_normal", "write (he inputs outputs), or (he-convolution sizes)"},
    {"xavier_uniform", "write (glorot inputs outputs), or (glorot-convolution sizes)"},
    {"lstm_cell", "write (lstm p x state), with p from (new-lstm inputs width)"},
    {"gru_cell", "write (gru p x state), with p from (new-gru inputs width)"},
    {"rnn_cell", "write (rnn p x state), with p from (new-rnn inputs width)"},
    {"multihead_attention", "write (attention heads p x), with p from (new-attention width)"},
    {"MultiheadAttention", "write (attention heads p x), with p from (new-attention width)"},
    {"scaled_dot_product_attention", "write (dot-product-attention q k v)"},
    {"TransformerEncoderLayer", "write (transformer heads p x), with p from (new-transformer width)"},
    {"log_sigmoid", "write (- (softplus (- t)))"},
    {"gumbel_softmax", "write (softmax (/ (- logits (log (- (log (rand (size logits)))))) temperature))"},
    {"bidirectional", "write (unroll lstm p x 0), and another one of (flip x '(1)), whose value is flipped back and joined by "
                      "(concat-tensors (list a b) 2)"},
    {"pad_sequence", "write (stack tensors 0) of tensors that (pad t '(0) (list more)) has made equally long"},
    {"linear_rate", "write (lambda (n) (* rate (- 1 (/ n steps)))), a procedure from the number of a step to a rate"},
    {"LinearLR", "write (lambda (n) (* rate (- 1 (/ n steps)))), a procedure from the number of a step to a rate"},
    {"one_cycle", kOneCycle},
    {"OneCycleLR", kOneCycle},
    {"ema", kAverages},
    {"ExponentialMovingAverage", kAverages},
    {"swa", kAverages},
    {"AveragedModel", kAverages},
    {"precision", kPrecision},
    {"precision_score", kPrecision},
    {"recall", kRecall},
    {"recall_score", kRecall},
    {"f1", kF1},
    {"f1_score", kF1},
    {"auc", kAuc},
    {"roc_auc_score", kAuc},
    {"rmse", "write (sqrt (mean-squared-error a b))"},
};

} // namespace

std::span<const Elsewhere> elsewhere_in_networks() { return kNetworksElsewhere; }

} // namespace cairn::compiler
