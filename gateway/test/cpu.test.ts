import test from 'ava';
import { cpuRatioOf } from './support/cpu.ts';

function burn(ms: number): void {
  const before = process.cpuUsage();
  for (let spent = 0; spent < ms * 1_000; ) {
    const { user, system } = process.cpuUsage(before);
    spent = user + system;
  }
}

test('the CPU ratio is a median, so a fast run does not hide that most are slow', async (t) => {
  for (const [dear, expected] of [
    [[true, false, true], true],
    [[false, true, true], true],
    [[false, true, false], false],
  ] as const) {
    let run = 0;
    const ratio = await cpuRatioOf(
      () => dear[run++ % dear.length],
      async (isDear) => burn(isDear ? 60 : 0.1),
      { enough: 3 },
    );
    t.is(ratio > 3, expected, `${dear.join()}: ${ratio}`);
  }
});
