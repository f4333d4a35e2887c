import type { ObjectStore } from '@parley/objects/object-store';
import type { ExecutionContext } from 'ava';

/** The stores of one test of the contract. */
export interface ObjectStoreSetup {
  store: ObjectStore;
  /** The same store through another client, as in another process. */
  other: ObjectStore;
  /** A key below the test's own prefix. */
  key(name: string): string;
  /** The test's own prefix, with its slash. */
  prefix: string;
}

/** Declares one test of the contract. */
export type ObjectStoreTest = (
  title: string,
  run: (t: ExecutionContext, setup: ObjectStoreSetup) => Promise<void>,
) => void;
