// Draws the validation that the page holds: busbw over size, one panel per family.
const { Plot } = charts;
const { families } = JSON.parse(document.getElementById("validation").textContent);
const sizes = (bytes) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${units[power]}`;
};
for (const family of families) {
  const points = family.points.map(([size, measured, predicted, nccl]) => (
    { size, measured, predicted, nccl }));
  const bySize = { x: "size", sort: "size" };
  const largest = Math.max(...points.map((point) => point.size));
  const smallest = Math.min(...points.map((point) => point.size));
  document.getElementById("panels").append(Plot.plot({
    title: family.name,
    width: 420,
    height: 280,
    marginBottom: 40,
    x: { type: "log", base: 2, label: "size", tickFormat: sizes, ticks: 5, domain: [smallest, largest * 1.01] },
    y: { label: "busbw (GB/s)", grid: true, zero: true },
    marks: [
      Plot.line(points.filter((point) => point.nccl !== null),
        { ...bySize, y: "nccl", stroke: "#888", strokeDasharray: "4 3" }),
      Plot.line(points, { ...bySize, y: "predicted", stroke: "#1f77b4" }),
      Plot.dot(points, {
        x: "size", y: "measured", fill: "#d62728", r: 2.5,
        title: (point) => `${sizes(point.size)}: measured ${point.measured.toFixed(2)}, predicted ${point.predicted.toFixed(2)} GB/s`,
      }),
      Plot.ruleY([0]),
    ],
  }));
}
