import { join } from 'node:path';
import { tools } from '../install-tool.ts';

/** The built-in transcription of voice: faster-whisper with the model tiny.en. */
export const whisper = {
  name: 'whisper',
  version: 'tiny.en, faster-whisper 1.2.1',
  folder: 'whisper-tiny-en-1',
  scripts: join(import.meta.dirname, 'whisper'),
};

export const whisperFolder = join(tools, whisper.folder);
