import { down } from '../cluster.ts';
import type { Removed } from '../removal.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

export const run: Command = async ({ folders, args, signal, say }) => {
  parseArguments(args, {});
  const { message, code } = outcome(await down({ folders, signal, say }));
  say(message);
  return code;
};

/**
 * Returns the message and the exit code for a removal. The code is 1 if a step failed, or if this machine differs from its state before
 * `up`.
 */
export function outcome(removed: Removed | undefined): { message: string; code: number } {
  if (!removed) return { message: 'there is no cluster', code: 0 };
  const { differences, failures } = removed;
  const listed = (title: string, lines: string[]) =>
    lines.length > 0 ? [`${title}:${lines.map((line) => `\n  ${line}`).join('')}`] : [];
  const problems = [
    ...listed('these steps failed', failures),
    ...listed('differences from before it was started', differences ?? []),
  ];
  if (problems.length > 0) return { message: ['the cluster is stopped', ...problems].join('; '), code: 1 };
  const same = differences ? ', and this machine is as it was before' : '';
  return { message: `the cluster is stopped${same}`, code: 0 };
}
