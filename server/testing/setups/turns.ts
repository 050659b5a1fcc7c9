/** Returns what the work returns, and how often other work of the process had its turn meanwhile. */
export async function countTurns<Value>(work: () => Promise<Value>): Promise<[Value, number]> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const turn = (): void => {
    turns += 1;
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  const value = await work();
  clearImmediate(next);
  return [value, turns];
}
