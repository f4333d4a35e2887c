import { join } from 'node:path';
import { findProcess, type Program, startProgram } from '@parley/servers/server';
import { type ProgramName, programFolder, scriptsFolder } from './programs.ts';

/** The data that every start of a program needs. */
export interface Run {
  tools: string;
  state: string;
  /** The file to which a program writes its pid to join the cluster's cgroup. */
  group: string;
  signal: AbortSignal;
}

/**
 * Returns the folder of a running program, with its log and its record.
 * @param name the program's name; for a program of a node, `<node>-<program>`
 */
export function homeOf({ state }: Pick<Run, 'state'>, name: string): string {
  return join(state, 'programs', name);
}

export function findProgram(run: Pick<Run, 'state'>, name: string): number | undefined {
  return findProcess(homeOf(run, name));
}

/** Returns the path of a command of an installed program. */
export function command(tools: string, program: ProgramName, name: string = program): string {
  return join(programFolder(tools, program), program === 'packages' ? 'bin' : '', name);
}

/** Returns the PATH for all programs: the unpacked packages come before the machine's own folders. */
export function pathOf(tools: string): string {
  return `${join(programFolder(tools, 'packages'), 'bin')}:${process.env.PATH ?? ''}`;
}

/** Starts a program of the cluster, which runs until `down`. Resolves with its pid when `ask` succeeds. */
export function startOne(run: Run, name: string, args: string[], ask: Program['ask']): Promise<number> {
  const { tools, group, signal } = run;
  const env = { PATH: pathOf(tools), GROUP: group };
  const program: Program = { home: homeOf(run, name), scripts: scriptsFolder, args, env, stopSignal: 'SIGTERM', ask };
  return startProgram(program, { signal, endWithParent: false });
}
