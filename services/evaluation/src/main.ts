import { runService } from '@parley/service/run-service';
import { evaluation } from './service.ts';

await runService(evaluation);
