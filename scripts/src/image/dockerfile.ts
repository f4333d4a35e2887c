import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.ts';

export const dockerfile = join(root, 'deploy/docker/Dockerfile');

/**
 * Returns the command of a container. @param limitMb the container's memory limit; without it, the flag for memory is a percentage, as in
 * the Dockerfile
 */
export function entryPoint(limitMb?: number): string[] {
  const [, words] = /^ENTRYPOINT (?<words>\[.*\])$/mu.exec(readFileSync(dockerfile, 'utf8')) ?? [];
  const parts: string[] = JSON.parse(words ?? '[]');
  if (limitMb === undefined) return parts;
  return parts.map((part) =>
    part.replace(/^(--max-old-space-size)-percentage=(\d+)$/u, (_, flag: string, percent: string) => {
      return `${flag}=${Math.floor((limitMb * Number(percent)) / 100)}`;
    }),
  );
}

/** Returns the environment variables of an image. */
export function imageEnvironment(): Record<string, string> {
  const [, words = ''] = /^ENV (.*)$/mu.exec(readFileSync(dockerfile, 'utf8')) ?? [];
  return Object.fromEntries(words.split(' ').map((word) => word.split('=') as [string, string]));
}
