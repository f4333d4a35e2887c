/** One measured figure beside its goal. */
export interface Figure {
  name: string;
  value: number;
  unit: 'ms' | 's' | 'MB';
  /** Where it should stay below; none where it is only told. */
  goal?: number;
}

export function isWithin({ value, goal }: Figure): boolean | undefined {
  return goal === undefined ? undefined : value <= goal;
}
