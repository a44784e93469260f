// The columns of the file besides the texts: values to filter and to colour by, and cells as the file has them.

// Codes in the packed arrays, as in packed_columns.py.
const NO_CATEGORY = 255;
const NO_DAY = -2147483648;
const SECONDS_PER_DAY = 86400;

const columns = content.columns.map((facts, i) => {
  const types = { Uint8Array, Int32Array, Float32Array, Float64Array };
  const packed = facts.array ? unpack("column-" + i, types[facts.array]) : null;
  const hasCells = document.querySelector(`script.cells[data-column="${i}"]`) !== null;
  return { ...facts, index: i, packed, cells: hasCells ? readBlocks(`script.cells[data-column="${i}"]`) : null };
});

// The value of a cell as a number: of a date in seconds since 1970, NaN if it is missing.
function numberIn(column, row) {
  if (column.read) return column.read(row);
  const value = column.packed[row];
  if (column.array !== "Int32Array") return value;
  return value === NO_DAY ? NaN : value * SECONDS_PER_DAY;
}

// The cell as the file has it.
function cellIn(column, row) {
  if (column.cells) return column.cells(row);
  if (column.kind === "category") return column.packed[row] === NO_CATEGORY ? "" : column.values[column.packed[row]];
  const value = numberIn(column, row);
  if (Number.isNaN(value)) return "";
  if (column.kind === "date") {
    const iso = new Date(value * 1000).toISOString();
    return column.array === "Int32Array" ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", column.separator) + column.suffix;
  }
  return column.decimals === null ? String(value) : value.toFixed(column.decimals);
}

// The smallest and the largest value of a column of numbers or dates; null if it has none.
function rangeOf(column) {
  if (column.range !== undefined) return column.range;
  let low = Infinity, high = -Infinity;
  for (let row = 0; row < N; row++) {
    const value = numberIn(column, row);
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return (column.range = low <= high ? [low, high] : null);
}

function formatValue(column, value) {
  if (column.kind !== "date") return Number(value.toPrecision(6)).toLocaleString("en") + (column.unit ?? "");
  return new Date(value * 1000).toISOString().slice(0, 10);
}

// The texts of each category; the last number is that of empty cells.
function countCategories(column, includes) {
  const counts = new Array(column.values.length + 1).fill(0);
  for (let row = 0; row < N; row++) {
    if (includes && !includes[row]) continue;
    counts[column.packed[row] === NO_CATEGORY ? column.values.length : column.packed[row]]++;
  }
  return counts;
}

// The confidence in percent, which texts can be filtered and coloured by as by a column of the file.
const confidenceColumn = { name: "confidence", kind: "number", index: "confidence", range: [0, 100], unit: " %", read: (row) => confidenceOf(row) ?? NaN };

const filterColumns = [confidenceColumn, ...columns.filter((column) => !column.packed || column.kind === "category" || rangeOf(column))];
const colourColumns = filterColumns.filter((column) => column.kind !== "text"); // text columns have too many values
