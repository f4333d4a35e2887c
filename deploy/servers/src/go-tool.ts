import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { exec, works } from './exec.ts';
import type { Tool } from './tool.ts';

export interface GoProgram {
  name: string;
  version: string;
  /** The package of its `main`. */
  package: string;
  patience: string;
}

/** A program that Go builds from its module, with caches of its own that an interrupted build leaves for the next. */
export function goTool(program: GoProgram): Tool {
  const { name, version, patience } = program;
  return {
    name,
    version,
    patience,
    async cannotInstall() {
      return (await works('sh', ['-c', 'command -v go'])) ? undefined : 'there is no Go';
    },
    async install({ target, scratch }, signal) {
      const home = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
      const bin = join(scratch, 'bin');
      rmSync(bin, { recursive: true, force: true });
      mkdirSync(bin);
      const env = {
        GOENV: join(home, 'go/env'), // the person's own settings hold, though Go's counters go elsewhere
        ...process.env,
        XDG_CONFIG_HOME: join(scratch, 'config'),
        GOPATH: join(scratch, 'path'),
        GOMODCACHE: join(scratch, 'modules'),
        GOCACHE: join(scratch, 'cache'),
        GOBIN: bin,
        CGO_ENABLED: '0',
        GOFLAGS: '-buildvcs=false -modcacherw',
        GOTOOLCHAIN: 'local',
      };
      const flags = ['-trimpath', '-ldflags=-s -w'];
      await exec('go', ['install', ...flags, `${program.package}@v${version}`], { cwd: scratch, env, signal });
      renameSync(join(bin, basename(program.package)), join(target, name));
    },
  };
}

/** Cuts, slows and delays connections between units and engines, for fault tests. */
export const toxiproxy = goTool({
  name: 'toxiproxy',
  version: '2.5.0',
  package: 'github.com/Shopify/toxiproxy/v2/cmd/server',
  patience: 'about half a minute',
});
