using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;
using Microsoft.ML.Trainers.FastTree;
using Microsoft.ML.Transforms;

namespace Wharf.Reference
{
    internal sealed partial class Golden
    {
        /// <summary>What ML.NET's common transforms make of a few rows, with the annotations they leave.</summary>
        private void Transforms()
        {
            Table source = new Table(
                5,
                Column.Of("Colour", TextDataViewType.Instance, Values.Memory("red", "green", "", "blue", "red")),
                Column.Of("Words", TextDataViewType.Instance,
                    Values.Memory("to be or not to be", "", "to", "be or be", "that is")),
                Column.Of("Size", NumberDataViewType.Single, new[] { 1f, 2f, float.NaN, 4f, 8f }),
                Column.Of("Weight", new VectorDataViewType(NumberDataViewType.Single, 2),
                    new[] { Dense(0f, 1f), Dense(2f, -1f), Dense(0f, 0f), Dense(4f, 3f), Dense(1f, 1f) }));

            var keys = ml.Transforms.Conversion;
            IEstimator<ITransformer> categories = keys.MapValueToKey("ColourKey", "Colour")
                .Append(keys.MapKeyToVector("ColourOneHot", "ColourKey"))
                .Append(keys.MapKeyToBinaryVector("ColourBits", "ColourKey"))
                .Append(keys.Hash("ColourHash", "Colour", 4, -1))
                .Append(ml.Transforms.Categorical.OneHotEncoding("ColourBag", "Colour",
                    OneHotEncodingEstimator.OutputKind.Bag));
            Emit("transform-categories", Apply(categories, source),
                "MapValueToKey, MapKeyToVector, MapKeyToBinaryVector, Hash with kept values, OneHotEncoding");

            IEstimator<ITransformer> words = ml.Transforms.Text.TokenizeIntoWords("Tokens", "Words")
                .Append(keys.MapValueToKey("TokenKeys", "Tokens"))
                .Append(keys.MapKeyToVector("TokenCounts", "TokenKeys", true))
                .Append(keys.MapKeyToVector("TokenMatrix", "TokenKeys", false))
                .Append(ml.Transforms.Text.ProduceNgrams("Pairs", "TokenKeys", 2, 0, false));
            Emit("transform-words", Apply(words, source),
                "TokenizeIntoWords (varying text), vectors of keys, bag counts, a matrix of unknown height, n-grams");

            IEstimator<ITransformer> numbers = ml.Transforms.NormalizeMinMax("WeightScaled", "Weight")
                .Append(ml.Transforms.IndicateMissingValues("SizeMissing", "Size"))
                .Append(ml.Transforms.ReplaceMissingValues("SizeFilled", "Size"))
                .Append(ml.Transforms.Categorical.OneHotEncoding("ColourOneHot", "Colour"))
                .Append(ml.Transforms.Concatenate("Features", "SizeFilled", "WeightScaled", "ColourOneHot"));
            Emit("transform-features", Apply(numbers, source),
                "NormalizeMinMax, missing values shown and replaced, Concatenate with SlotNames and slot ranges", None);
        }

        /// <summary>Models scored on the rows they learnt from: columns with every `Score` annotation.</summary>
        private void Scores()
        {
            var rng = new Rng(8);
            const int Rows = 40;
            float[][] points = Enumerable.Range(0, Rows).Select(_ => new[] { rng.Unit(), rng.Unit() }).ToArray();
            Table source = new Table(
                Rows,
                Column.Of("Features", new VectorDataViewType(NumberDataViewType.Single, 2),
                    points.Select(p => Dense(p)).ToArray()),
                Column.Of("Label", BooleanDataViewType.Instance, points.Select(p => p[0] > p[1]).ToArray()),
                Column.Of("Sum", NumberDataViewType.Single, points.Select(p => p[0] + p[1]).ToArray()),
                Column.Of("Quadrant", TextDataViewType.Instance, Values.Memory(points.Select(Quadrant).ToArray())));

            var binary = new FastTreeBinaryTrainer.Options
            {
                NumberOfThreads = 1, NumberOfTrees = 3, NumberOfLeaves = 4, MinimumExampleCountPerLeaf = 4,
            };
            Emit("score-binary", Apply(ml.BinaryClassification.Trainers.FastTree(binary), source),
                "scored binary FastTree model: Score, Probability, PredictedLabel and their annotations");
            var regression = new FastTreeRegressionTrainer.Options
            {
                NumberOfThreads = 1, NumberOfTrees = 3, NumberOfLeaves = 4, MinimumExampleCountPerLeaf = 4,
                LabelColumnName = "Sum",
            };
            Emit("score-regression", Apply(ml.Regression.Trainers.FastTree(regression), source),
                "scored FastTree regression");
            IEstimator<ITransformer> classes = ml.Transforms.Conversion.MapValueToKey("QuadrantKey", "Quadrant")
                .Append(ml.MulticlassClassification.Trainers.NaiveBayes("QuadrantKey"));
            Emit("score-classes", Apply(classes, source),
                "scored naive Bayes of four classes: a score vector with slot names, a predicted key with KeyValues");
        }

        private void Adult()
        {
            string[] coded = { "workclass", "education" };
            IEstimator<ITransformer> steps = ml.Transforms.NormalizeMinMax(
                Datasets.AdultNumbers.Select(name => new InputOutputColumnPair(name + "-scaled", name)).ToArray());
            foreach (string word in Datasets.AdultWords)
            {
                steps = steps.Append(ml.Transforms.Conversion.MapValueToKey(word + "-key", word));
            }
            foreach (string word in coded)
            {
                steps = steps.Append(ml.Transforms.Conversion.MapKeyToVector(word + "-one-hot", word + "-key"));
            }
            string[] parts = coded.Select(word => word + "-one-hot")
                .Concat(Datasets.AdultNumbers.Select(number => number + "-scaled")).ToArray();
            string[] kept = new[] { "Label", "occupation" }.Concat(Datasets.AdultWords.Select(word => word + "-key"))
                .Concat(new[] { "age", "hours-per-week", "workclass-one-hot", "Features" }).ToArray();
            steps = steps.Append(ml.Transforms.Concatenate("Features", parts))
                .Append(ml.Transforms.SelectColumns(kept));
            Emit("real-adult", Apply(steps, datasets.Adult()),
                "UCI Adult, 500 rows: text, keys with KeyValues, a sparse one-hot vector, features with slot names",
                new SaveOptions { RowsPerBlock = 200 });
        }

        private static string Quadrant(float[] point)
        {
            return (point[0] > 0.5f ? "east" : "west") + (point[1] > 0.5f ? "-north" : "");
        }

        private static IDataView Apply(IEstimator<ITransformer> estimator, IDataView source)
        {
            return estimator.Fit(source).Transform(source);
        }
    }
}
