import { down } from '../cluster.ts';
import { leave } from '../install/leave.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

export const run: Command = async ({ folders, args, signal, say }) => {
  parseArguments(args, {});
  await leave(folders, { signal, say });
  const stood = await down({ folders });
  say(stood ? 'the cluster is stopped, and all it made is removed' : 'there is no cluster');
  return 0;
};
