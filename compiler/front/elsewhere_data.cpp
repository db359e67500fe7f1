// Names of files, tables, data sets and pictures in NumPy, pandas, PyTorch and matplotlib.
#include "compiler/front/elsewhere_tables.h"

namespace cairn::compiler {

namespace {

constexpr std::string_view kPlots = "write (plot-lines path labels series ...), which draws into an SVG file";
constexpr std::string_view kShuffle = "write (shuffled-indices n seed epoch), or (loader source batch seed)";
constexpr std::string_view kSaved = "write (save-parameters path p) and (load-parameters path like)";
constexpr std::string_view kPickles =
    "pickles hold objects of Python; there, safetensors.torch.save_file(tensors, path) writes a file for (read-safetensors path)";

constexpr Elsewhere kDataElsewhere[] = {
    {"torch_load", kPickles},
    {"unpickle", kPickles},
    {"pickle", kPickles},
    {"DataLoader", "write (loader source batch seed); its batch n is (loader-batch l n)"},
    {"ImageFolder",
     "write (picture-folder path height width): the pair of the classes and a source for (loader source batch seed)"},
    {"TensorDataset", "write (loader (list a b) batch seed), which takes tensors as they are"},
    {"randperm", "write (shuffled-indices n seed epoch)"},
    {"permutation", "write (shuffled-indices n seed epoch)"},
    {"memmap", "write (npy-array path) and (read-rows array indices)"},
    {"fromfile", "write (raw-array path type) and (read-rows array from count)"},
    {"loadtxt", "write (read-csv path)"},
    {"savetxt", "write (write-csv path matrix)"},
    {"savez", "write (write-npz path tensors), of pairs of a name and a tensor"},
    {"DataFrame", "write (read-csv path): the pair of the names and a matrix; (read-table path) has columns of text, too"},
    {"read_table", "write (read-table path separator type), or (read-table path): the pair of the names and a list of columns"},
    {"genfromtxt", "write (read-table path), or (read-csv path) of numbers alone"},
    {"LabelEncoder", "write (text-classes texts): the pair of the classes and a tensor of indices"},
    {"factorize", "write (text-classes texts): the pair of the classes and a tensor of indices"},
    {"train_test_split", "write (subset source indices), with parts of (shuffled-indices n seed 0) as indices: (index order '(0 "
                         "800)), (index order '(800 #f))"},
    {"to_csv", "write (write-table path names columns), or (write-csv path matrix names) of a matrix"},
    {"listdir", "write (list-folder path)"},
    {"glob", "write (list-folder path)"},
    {"directory-list", "write (list-folder path)"},
    {"random_split", "write (subset source indices), with (shuffled-indices n seed 0) in two parts"},
    {"Subset", "write (subset source indices)"},
    {"open", "write (read-text path), (read-lines path) or (write-text path text)"},
    {"plot", kPlots},
    {"plt", kPlots},
    {"figure", kPlots},
    {"show", kPlots},
    {"savefig", kPlots},
    {"hist", "write (plot-histogram path '() numbers)"},
    {"imshow", "write (plot-image path '() image)"},
    {"imread", "write (read-image path)"},
    {"imsave", "write (write-png path picture)"},
    {"normalize", "write (/ t (norm t)), or (normalize-channels t means deviations) of pictures"},
    {"state_dict", kSaved},
    {"load_state_dict", kSaved},
    {"save", kSaved},
    {"histogram", "write (plot-histogram path '() numbers), or (sum (one-hot indices n) 0) of indices"},
    {"shuffle", kShuffle},
    {"fillna", "write (where (= t t) t x), which has x where t has a NaN"},
    {"ffill", "of a list l write (fold-left (lambda (a x) (cons (if (= x x) x (car a)) a)) '(0) l), and reverse it"},
    {"dropna", "write (index m (nonzero (= (sum m 1) (sum m 1)))): the rows of a matrix without a NaN"},
    {"groupby", "write (dict-update d key (lambda (l) (cons row l)) '()) for each row; sums of rows by their groups are made by "
                "'scatter-add'"},
    {"rolling", "write (squeeze (average-pool (view t '(1 1 -1)) n 1)), the means of n neighbours each"},
    {"get_dummies", "write (one-hot (cdr (text-classes texts)) n)"},
    {"KFold", "write (shuffled-indices n seed 0 k (quotient n folds) folds), the indices of part k of so many folds"},
    {"StandardScaler", "write (/ (- t (mean t 0)) (sqrt (variance t 0)))"},
};

} // namespace

std::span<const Elsewhere> elsewhere_in_data() { return kDataElsewhere; }

} // namespace cairn::compiler
