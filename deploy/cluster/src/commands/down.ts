import { down } from '../cluster.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

export const run: Command = async ({ folders, args, signal, say }) => {
  parseArguments(args, {});
  const removed = await down({ folders, signal, say });
  const { differences } = removed ?? {};
  if (!removed) say('there is no cluster');
  else if (!differences) say('the cluster is stopped');
  else if (differences.length === 0) say('the cluster is stopped, and this machine is as it was before');
  else say(`the cluster is stopped; otherwise than before it was started are:\n  ${differences.join('\n  ')}`);
  return 0;
};
