import { provideImages } from '../images/images.ts';
import { runningNodes } from '../images/load-images.ts';
import { install } from '../install/install.ts';
import { ensureToolsAndEngines } from '../install/tools.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

export const run: Command = async ({ folders, args, signal, say, print }) => {
  parseArguments(args, {});
  runningNodes(folders);
  await ensureToolsAndEngines({ tools: folders.tools, signal, say });
  const { tag } = await provideImages({ folders, signal, say });
  const { url, seconds } = await install({ folders, tag, signal, say });
  print(`All pods are ready, ${seconds.ready} s after helm began. Talk to it: scripts/talk --url ${url}\n`);
  return 0;
};
