import test from 'ava';
import { alternateRoles } from './alternate-roles.ts';
import type { ModelMessage } from './model.ts';

const user = (text: string): ModelMessage => ({ role: 'user', text });
const assistant = (text: string): ModelMessage => ({ role: 'assistant', text });
const shown = (messages: ModelMessage[], system = 'Be Ada.') => alternateRoles({ system, messages });

test('a conversation with alternating roles is unchanged', (t) => {
  const request = { system: 'Be Ada.', messages: [user('a'), assistant('b'), user('c')], maxOutputTokens: 7 };
  t.deepEqual(alternateRoles(request), request);
});

test('consecutive user messages are joined', (t) => {
  t.deepEqual(shown([user('a'), user('b'), assistant('c'), user('d'), user('e'), user('f')]).messages, [
    user('a\n\nb'),
    assistant('c'),
    user('d\n\ne\n\nf'),
  ]);
});

test('empty replies are dropped', (t) => {
  t.deepEqual(shown([user('a'), assistant(''), user('b'), assistant(' \n'), user('c')]).messages, [
    user('a\n\nb\n\nc'),
  ]);
  t.deepEqual(shown([assistant(''), user('a')]), { system: 'Be Ada.', messages: [user('a')] });
});

test('a greeting moves into the system prompt', (t) => {
  t.deepEqual(shown([assistant('Hello, I am Ada.'), user('Hi')]), {
    system: 'Be Ada.\n\nYou opened the conversation with these words:\nHello, I am Ada.',
    messages: [user('Hi')],
  });
  t.is(shown([assistant('Hello'), user('Hi')], '').system, 'You opened the conversation with these words:\nHello');
});

test('for any order of messages the result alternates from the user, loses no text and leaves the input unchanged', (t) => {
  for (let shape = 0; shape < 3 ** 6; shape += 1) {
    const pick = (at: number) => Math.floor(shape / 3 ** at) % 3;
    const before = Array.from({ length: 6 }, (_, at) => [user(`u${at}`), assistant(`a${at}`), assistant('')][pick(at)]);
    const messages = [...(before as ModelMessage[]), user('end')];
    const given = structuredClone(messages);
    const request = shown(messages);
    t.deepEqual(messages, given);
    for (const [at, { role }] of request.messages.entries()) t.is(role, at % 2 === 0 ? 'user' : 'assistant');
    t.is(request.messages.at(-1)?.role, 'user');
    const all = [request.system, ...request.messages.map(({ text }) => text)].join('\n');
    for (const { text } of messages) t.true(all.includes(text));
    t.deepEqual(alternateRoles(request), request);
  }
});
