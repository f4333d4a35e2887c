/** All texts that the widget shows or announces. Words in braces, such as `{agent}` or `{seconds}`, are placeholders. */
export const defaultLabels = {
  agent: 'Assistant',
  you: 'You',
  conversation: 'Conversation with {agent}',
  message: 'Message',
  placeholder: 'Write a message…',
  send: 'Send',
  stop: 'Stop the reply',
  end: 'End',
  endLong: 'End the conversation',
  endQuestion: 'End this conversation?',
  endConfirm: 'End it',
  endCancel: 'Keep talking',
  ended: 'This conversation has ended.',
  connecting: 'Connecting…',
  online: 'Online',
  reconnecting: 'Connection lost. Reconnecting…',
  failed: 'This conversation cannot be continued. Reload the page to start again.',
  replying: '{agent} is replying…',
  interrupted: 'Stopped',
  turnFailed: 'No reply:',
  retry: 'Try again',
  notSent: 'Not sent.',
  unknownMessage: 'A message from another device',
  sources: 'Sources',
  toolRunning: 'Using {name}…',
  toolDone: 'Used {name}',
  toolFailed: '{name} failed',
  toolCancelled: '{name} was stopped',
  seconds: '{seconds} s',
  table: 'Table',
  moreRows: 'More rows that are not shown: {count}',
  moreColumns: 'More columns that are not shown: {count}',
  moreItems: 'More that are not shown: {count}',
  newMessages: 'New messages',
  opensNewTab: '(opens in a new tab)',
  tooLong: 'Too long by {count} characters',
  readAloud: 'Read aloud',
  stopReading: 'Stop reading',
  notSpoken: 'This cannot be read aloud:',
  record: 'Say a message',
  stopRecording: 'Stop and send',
  discard: 'Discard',
  askingMicrophone: 'Waiting for the microphone…',
  recording: 'Recording…',
  transcribing: 'Listening to what you said…',
  nothingHeard: 'Nothing was heard. Try again, closer to the microphone.',
  notHeard: 'What you said could not be sent:',
  tooSlow: 'it took too long.',
  clipTooLong: 'The recording is too long.',
  microphoneDenied: 'The microphone is not allowed here. Allow it for this page in your browser, and try again.',
  microphoneMissing: 'No microphone was found.',
  microphoneFailed: 'The microphone cannot be used. Another program may be using it.',
};

export type Labels = typeof defaultLabels;

/** Replaces the placeholders of a label. */
export function fill(label: string, values: Record<string, string | number> = {}): string {
  return label.replaceAll(/\{(\w+)\}/gu, (whole, name: string) => String(values[name] ?? whole));
}

/** Returns the default labels, with those that the page sets replaced. The page's values are ignored if they are not strings. */
export function withDefaults(given: unknown): Labels {
  const own = typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
  const entries = Object.entries(defaultLabels).map(([name, label]) => [
    name,
    typeof own[name] === 'string' ? own[name] : label,
  ]);
  return Object.fromEntries(entries) as Labels;
}
