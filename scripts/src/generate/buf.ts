import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../root.ts';

/** Where the .proto files are. */
export const protos = join(root, 'protos');

/** Writes the generated TypeScript and the reflection image of protos/ below `folder`, as `folder`/gen. */
export function generateInto(folder: string): void {
  buf('generate', '--output', folder);
  buf('build', '--output', join(folder, 'gen/image.binpb'));
}

/** Throws when the .proto files break a rule of buf.yaml; buf has then said which. */
export function lint(): void {
  buf('lint');
}

function buf(...args: string[]): void {
  execFileSync(join(root, 'node_modules/.bin/buf'), args, { cwd: protos, stdio: ['ignore', 'inherit', 'inherit'] });
}
