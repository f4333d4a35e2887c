import { maxNodes, nodesOf } from '../addresses.ts';
import { up } from '../cluster.ts';
import { parseArguments } from './arguments.ts';
import { type Command, UsageError } from './command.ts';

export const run: Command = async ({ folders, args, signal, say, print }) => {
  const { nodes = '1' } = parseArguments(args, { nodes: { type: 'string' } });
  const count = /^[1-9]$/u.test(nodes) ? Number(nodes) : 0;
  if (count < 1 || count > maxNodes) throw new UsageError(`--nodes is a number from 1 to ${maxNodes}`);
  await up(nodesOf(count), { folders, signal, say });
  print('The cluster is up. eval "$(scripts/cluster env)" configures kubectl in this shell.\n');
  return 0;
};
