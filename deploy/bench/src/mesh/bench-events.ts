import type { SchemaDeclaration } from '@parley/chassis/database/types';
import type { TopicDeclaration } from '@parley/chassis/events/topics';

/** As many partitions as the mesh's own topics have. */
export const topic: TopicDeclaration = { name: 'bench-happened', partitions: 12, retentionMs: 3_600_000 };
export const eventType = 'bench.happened.v1';
export const tenantId = 1;

/** Connections of each side, as many as a unit has. */
export const poolSize = 4;

/** A schema with nothing but the plumbing. */
export function plumbingOnly(name: string): SchemaDeclaration {
  return { name, tables: {}, migrations: [] };
}

/** What an event says. */
export interface Happening {
  number: number;
  /** Whether its consumer has something to commit; else it only receives it. */
  hasEffect: boolean;
}

export function encode({ number, hasEffect }: Happening): Uint8Array {
  const data = Buffer.alloc(5);
  data.writeInt32BE(number);
  data.writeUInt8(hasEffect ? 1 : 0, 4);
  return data;
}

export function decode(data: Uint8Array): Happening {
  const view = new DataView(data.buffer, data.byteOffset);
  return { number: view.getInt32(0), hasEffect: view.getUint8(4) === 1 };
}

/** What the consumer tells of events that are done with. */
export interface Taken {
  /** Which they are. */
  numbers: number[];
  /** When the last of these was done, by the clock that all processes of the machine share. */
  atMs: number;
}

/** Milliseconds of a clock that all processes of one machine share and that never jumps. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
