import type { ObjectStore } from '@parley/objects/object-store';
import type { ExecutionContext } from 'ava';

/** What one test of the contract works on. */
export interface ObjectStoreSetup {
  store: ObjectStore;
  /** Another process's way to the same objects. */
  other: ObjectStore;
  /** A key below a prefix of this test's own. */
  key(name: string): string;
  /** That prefix, with its slash. */
  prefix: string;
}

/** Declares one test of the contract. */
export type ObjectStoreTest = (
  title: string,
  run: (t: ExecutionContext, setup: ObjectStoreSetup) => Promise<void>,
) => void;
