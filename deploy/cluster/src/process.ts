import { join } from 'node:path';
import { findProcess, type Program, startProgram } from '@parley/servers/server';
import { type ProgramName, programFolder, scriptsFolder } from './programs.ts';

/** What the programs of a cluster are started with. */
export interface Run {
  tools: string;
  state: string;
  /** The file by which a program joins the cluster's cgroup. */
  group: string;
  signal: AbortSignal;
}

/** The folder of a program that runs, with its log and its record; `name` may have the name of its node in front. */
export function homeOf({ state }: Pick<Run, 'state'>, name: string): string {
  return join(state, 'programs', name);
}

export function findProgram(run: Pick<Run, 'state'>, name: string): number | undefined {
  return findProcess(homeOf(run, name));
}

/** The path of a command of an installed program. */
export function command(tools: string, program: ProgramName, name: string = program): string {
  return join(programFolder(tools, program), program === 'packages' ? 'bin' : '', name);
}

/** The PATH of all programs: the unpacked packages before those of the machine. */
export function pathOf(tools: string): string {
  return `${join(programFolder(tools, 'packages'), 'bin')}:${process.env.PATH ?? ''}`;
}

/** Starts one program of the cluster, and waits until it answers. It runs until `down`. @returns its pid. */
export function startOne(run: Run, name: string, args: string[], ask: Program['ask']): Promise<number> {
  const { tools, group, signal } = run;
  const env = { PATH: pathOf(tools), GROUP: group };
  const program: Program = { home: homeOf(run, name), scripts: scriptsFolder, args, env, stopSignal: 'SIGTERM', ask };
  return startProgram(program, { signal, endWithParent: false });
}
