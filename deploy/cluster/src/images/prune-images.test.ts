import test from 'ava';
import { outdatedImages } from './prune-images.ts';

test('of each unit the current image and the two newest others are kept, and all base images', (t) => {
  const image = (name: string, created: number) => ({ names: [`localhost/parley/${name}`], created });
  const voice = ['a', 'b', 'c', 'd', 'e'].map((tag, n) => image(`voice:${tag}`, n));
  const others = [image('agent:a', 0), image('base:1', 0), image('base:2', 1), image('base:3', 2), image('base:4', 3)];
  const listed = [
    ...voice,
    ...others,
    { names: null, created: 9 },
    { names: ['docker.io/library/node:24'], created: 0 },
  ];
  t.deepEqual(
    outdatedImages(listed, ['localhost/parley/voice:a']),
    ['c', 'b'].map((tag) => `localhost/parley/voice:${tag}`),
  );
});
