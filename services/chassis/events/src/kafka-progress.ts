/** The progress of one partition between two rebalances. */
export interface PartitionProgress {
  /** To be called in ascending order of offsets. */
  begin(offset: string): void;
  finish(offset: string): void;
  /** How many have begun and not finished. */
  readonly unfinished: number;
  /** The offset to commit: everything before it is finished. Undefined where that has been committed already. */
  due(): string | undefined;
  committed(offset: string): void;
  /** How many events lie between the offset to commit and the end of the partition; 0 while that is unknown. */
  lag(): number;
  /** `highWatermark`: the offset that the partition's next event will get. */
  endsAt(highWatermark: string): void;
}

export function partitionProgress(): PartitionProgress {
  const begun = new Set<bigint>(); // a set keeps insertion order
  let next: bigint | undefined;
  let committed: bigint | undefined;
  let end: bigint | undefined;

  const finishedUpTo = () => begun.values().next().value ?? next;

  return {
    begin(offset) {
      begun.add(BigInt(offset));
      next = BigInt(offset) + 1n;
    },
    finish: (offset) => void begun.delete(BigInt(offset)),
    get unfinished() {
      return begun.size;
    },
    due() {
      const upTo = finishedUpTo();
      return upTo === undefined || upTo === committed ? undefined : String(upTo);
    },
    committed(offset) {
      committed = BigInt(offset);
    },
    lag() {
      const upTo = finishedUpTo();
      return end === undefined || upTo === undefined || upTo >= end ? 0 : Number(end - upTo);
    },
    endsAt(highWatermark) {
      end = BigInt(highWatermark);
    },
  };
}
