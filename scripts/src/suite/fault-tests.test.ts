import test from 'ava';
import { withFaultsApart } from './fault-tests.ts';

test('fault tests are a part of their own, and no other workspace has any', (t) => {
  const gateway = { name: 'gateway', folder: 'gateway', files: ['src/faults/a.test.ts'] };
  const scripts = { name: 'scripts', folder: 'scripts', files: ['src/faults/kill.test.ts', 'src/suite/b.test.ts'] };

  t.deepEqual(withFaultsApart([gateway, scripts]), {
    others: [gateway, { ...scripts, files: ['src/suite/b.test.ts'] }],
    faults: { name: 'faults', folder: 'scripts', files: ['src/faults/kill.test.ts'] },
  });
  t.is(withFaultsApart([gateway]).faults, undefined);
});
