export function findLockfileFaults(folder: string): string[];
