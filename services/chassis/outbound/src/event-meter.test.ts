import test from 'ava';
import { eventMeter } from './event-meter.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const tooLarge = { message: 'The answer is larger than 20 bytes' };

test('an empty line ends an event, whatever ends the lines and however the bytes are split', (t) => {
  for (const end of ['\n', '\r\n', '\r']) {
    const check = eventMeter(20);
    const event = `id: 1${end}data: ab${end}${end}`;
    for (let n = 0; n < 100; n += 1) check(bytes(event));
    for (let n = 0; n < 100; n += 1) for (const each of event) check(bytes(each));
    t.throws(() => check(bytes(`id: 1${end}data: a${end}data: b${end}`)), tooLarge);
  }
});

test('a line that never ends is cut, and so is an event of many lines', (t) => {
  t.throws(() => eventMeter(20)(bytes('a'.repeat(21))), tooLarge);
  const check = eventMeter(20);
  t.throws(() => {
    for (let n = 0; n < 6; n += 1) check(bytes('a: b\r\n'));
  }, tooLarge);
});
