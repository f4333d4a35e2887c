import { readFileSync } from 'node:fs';
import type { ModelServer } from '@parley/testing/model-server';
import { type Figure, figure, quantile } from '../figures.ts';
import type { BenchOptions, StartedMesh } from '../processes.ts';

/** The environment of a flood: a newly started mesh. */
export interface Scene extends BenchOptions {
  mesh: StartedMesh;
  /** The only model server of the mesh, in this process. It responds at once unless the flood scripts it. */
  model: ModelServer;
  /** Counts how often the logs of the mesh contain this text so far. */
  logged(text: string): number;
}

/** An operation of the client that is measured during a flood. */
export type Probing = 'query' | 'turn' | 'signIn';

/** A flood: more work than a mesh can do at once. To add a flood, add a file in this folder and an entry in `floods`. */
export interface Flood {
  /** The flood's name: in its figures, and as the value of `--flood`. */
  name: string;
  /** The operations of the client that is measured during the flood. */
  probes: readonly Probing[];
  /** Additional settings of the mesh. */
  settings?: Record<string, string>;
  /** Runs the flood until all accepted work is done. */
  run(scene: Scene): Promise<Figure[]>;
}

/** Returns an object that counts and times the operations of a flood's clients. */
export function operations() {
  const taken: number[] = [];
  const refused: number[] = [];
  const failures = new Map<string, number>();

  return {
    /**
     * Runs and times one operation. An error counts as a refusal if a limit of the gateway was exceeded, otherwise as a failure.
     * @returns the operation's result; undefined if it was refused or failed
     */
    async count<T>(operation: () => Promise<T>): Promise<T | undefined> {
      const before = performance.now();
      try {
        const value = await operation();
        taken.push(performance.now() - before);
        return value;
      } catch (error) {
        const code = codeOf(error);
        if (isRefusal(error)) refused.push(performance.now() - before);
        else failures.set(code, (failures.get(code) ?? 0) + 1);
        return undefined;
      }
    },
    figures(): Figure[] {
      const failed = [...failures].map(([code, count]) => figure(`operations failed with ${code}`, count, 'in all'));
      const times = (name: string, all: number[], bound = {}) =>
        all.length === 0
          ? []
          : [
              figure(`${name}, p50`, quantile(all, 0.5), 'ms'),
              figure(`${name}, p99`, quantile(all, 0.99), 'ms'),
              figure(`${name}, slowest`, Math.max(...all), 'ms', bound),
            ];
      return [
        figure('operations taken', taken.length, 'in all'),
        ...times('operations taken', taken),
        figure('operations refused', refused.length, 'in all'),
        ...times('operations refused', refused, { goal: 1_000 }),
        figure('operations failed', sum(failures.values()), 'in all', { goal: 0 }),
        ...failed,
      ];
    },
  };
}

/** Ignores the refusal of a request that exceeds a limit of the gateway. @throws any other error */
export function whereRefused(error: unknown): undefined {
  if (!isRefusal(error)) throw error;
}

function isRefusal(error: unknown): boolean {
  return String(error).includes('"message":"Too many requests');
}

/** Returns the error code of a refused operation of `Client`; `no answer` for any other failure. */
export function codeOf(error: unknown): string {
  const text = String(error);
  return /"code":"([A-Z_]+)"/u.exec(text)?.[1] ?? 'no answer';
}

/** Returns a function that counts how often a text occurs in the logs that a mesh has written so far. */
export function loggedIn(file: string): Scene['logged'] {
  return (text) => readFileSync(file, 'utf8').split(text).length - 1;
}

export function sum(numbers: Iterable<number>): number {
  let all = 0;
  for (const number of numbers) all += number;
  return all;
}
