import type { Database } from '@parley/postgres/database/types';
import type { AgentReader } from './agent-reader.ts';
import type { DocumentationUrls } from './catalogue.ts';
import type { ModelChooser } from './model-choice.ts';

export interface Ports {
  database: Database;
  readAgent: AgentReader;
  chooseModel: ModelChooser;
  documentation: DocumentationUrls;
}
