import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../engine.ts';
import { findProcess } from '../server.ts';

/** Makes an engine with these scripts in this folder. The engine counts as responding as soon as its process runs. */
export function fakeEngine(folder: string, { install = '', start = 'exec sleep 300' } = {}): Engine {
  const scripts = join(folder, 'scripts');
  mkdirSync(scripts, { recursive: true });
  writeFileSync(join(scripts, 'install.sh'), install);
  writeFileSync(join(scripts, 'start.sh'), start);
  return {
    name: 'redis',
    title: 'Fake',
    version: '1',
    scripts,
    folder: 'fake-1',
    stopSignal: 'SIGTERM',
    setting: 'FAKE_URL',
    settings: ({ ports }) => ({ FAKE_URL: `fake://127.0.0.1:${ports.main}` }),
    async ask({ home }) {
      if (findProcess(home) === undefined) throw new Error('not yet');
    },
  };
}
