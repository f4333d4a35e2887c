import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { EngineName } from './engine.ts';

const engineState = z.object({
  ports: z.record(z.string(), z.number()),
  secrets: z.record(z.string(), z.string()),
  /** The folder that holds its data. */
  home: z.string(),
});

const stateShape = z.object({ engines: z.record(z.string(), engineState) });

/** What stays the same of a server from one start to the next, and when its data are deleted. */
export type EngineState = z.infer<typeof engineState>;

const fileOf = (folder: string) => join(folder, 'state.json');

/** @throws Error naming the file where it cannot be understood. */
export function readState(folder: string, engine: EngineName): EngineState | undefined {
  return readAll(folder)[engine];
}

/** Keeps it, readable by its owner alone, since it holds passwords. */
export function writeState(folder: string, engine: EngineName, state: EngineState): void {
  const engines = { ...readAll(folder), [engine]: state };
  const written = `${fileOf(folder)}.new`;
  writeFileSync(written, `${JSON.stringify({ engines }, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(written, fileOf(folder));
}

function readAll(folder: string): Record<string, EngineState> {
  const file = fileOf(folder);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  try {
    return stateShape.parse(JSON.parse(text)).engines;
  } catch (error) {
    throw new Error(`${file} cannot be understood: delete it and the folders beside it to begin anew`, {
      cause: error,
    });
  }
}
