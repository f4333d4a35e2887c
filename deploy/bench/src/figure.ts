/** One measured figure beside its goal. */
export interface Figure {
  name: string;
  value: number;
  /** `×`: how many times another figure of the same run. */
  unit: 'ms' | 's' | 'MB' | 'KB' | '×' | '/s';
  /** Where it should stay below; none where it is only told. */
  goal?: number;
  /** Where it should stay above. */
  atLeast?: number;
}

export function isWithin({ value, goal, atLeast }: Figure): boolean | undefined {
  if (goal !== undefined) return value <= goal;
  return atLeast === undefined ? undefined : value >= atLeast;
}
