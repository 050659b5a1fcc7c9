/**
 * Logistic regression by Newton's method (iteratively reweighted least squares) with a ridge penalty.
 * Deterministic: it starts at zero, and the penalized likelihood has one maximum.
 */

export type Observation = {
  readonly features: readonly number[];
  readonly isPositive: boolean;
  /** How often the observation counts. */
  readonly weight: number;
};

const stepsMax = 50;
const tolerance = 1e-9;

/**
 * @param ridge the penalty on the square of each weight but the bias, for each observation.
 * @returns the weights of the features, and the bias as the last one.
 */
export function fitLogistic(observations: readonly Observation[], ridge: number): number[] {
  const size = (observations[0]?.features.length ?? 0) + 1;
  const penalty = ridge * observations.length;
  let weights = zeros(size);
  for (let step = 0; step < stepsMax; step += 1) {
    const { gradient, hessian } = differentiate(observations, weights);
    for (let index = 0; index + 1 < size; index += 1) {
      gradient[index] = at(gradient, index) - penalty * at(weights, index);
      const row = hessian[index];
      if (row !== undefined) row[index] = at(row, index) + penalty;
    }
    const change = solve(hessian, gradient);
    weights = weights.map((weight, index) => weight + at(change, index));
    if (change.every((value) => Math.abs(value) < tolerance)) break;
  }
  return weights;
}

function at(values: readonly number[], index: number): number {
  const value = values[index];
  if (value === undefined) throw new Error(`no value at ${index}`);
  return value;
}

function zeros(size: number): number[] {
  return Array.from({ length: size }, () => 0);
}

export function addUp(features: readonly number[], weights: readonly number[]): number {
  let sum = at(weights, features.length);
  for (let index = 0; index < features.length; index += 1) {
    sum += at(features, index) * at(weights, index);
  }
  return sum;
}

function differentiate(
  observations: readonly Observation[],
  weights: readonly number[],
): { gradient: number[]; hessian: number[][] } {
  const size = weights.length;
  const gradient = zeros(size);
  const hessian = Array.from({ length: size }, () => zeros(size));
  for (const { features, isPositive, weight } of observations) {
    const inputs = [...features, 1];
    const probability = 1 / (1 + Math.exp(-addUp(features, weights)));
    const error = weight * ((isPositive ? 1 : 0) - probability);
    const curvature = weight * probability * (1 - probability);
    for (let row = 0; row < size; row += 1) {
      const input = at(inputs, row);
      if (input === 0) continue;
      gradient[row] = at(gradient, row) + error * input;
      const line = hessian[row] ?? [];
      for (let column = 0; column < size; column += 1) {
        line[column] = at(line, column) + curvature * input * at(inputs, column);
      }
    }
  }
  return { gradient, hessian };
}

/** Keeps the matrix invertible where a feature is the same in all observations. */
const diagonalMin = 1e-9;

/** Gaussian elimination with pivoting. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const size = right.length;
  const rows = matrix.map((row, index) =>
    [...row, at(right, index)].map((value, column) =>
      column === index ? value + diagonalMin : value,
    ),
  );
  for (let pivot = 0; pivot < size; pivot += 1) {
    let best = pivot;
    for (let row = pivot + 1; row < size; row += 1) {
      if (Math.abs(at(rows[row] ?? [], pivot)) > Math.abs(at(rows[best] ?? [], pivot))) best = row;
    }
    const chosen = rows[best] ?? [];
    rows[best] = rows[pivot] ?? [];
    rows[pivot] = chosen;
    for (let row = 0; row < size; row += 1) {
      if (row === pivot) continue;
      const line = rows[row] ?? [];
      const factor = at(line, pivot) / at(chosen, pivot);
      if (factor === 0) continue;
      for (let column = pivot; column <= size; column += 1) {
        line[column] = at(line, column) - factor * at(chosen, column);
      }
    }
  }
  return rows.map((row, index) => at(row, size) / at(row, index));
}
