import test from 'ava';
import { objectStoreContract } from '../src/testing/object-store-contract.ts';
import { connectS3, s3Tests } from './support/object-stores.ts';

s3Tests('the object store on S3', () => {
  objectStoreContract(test, 'S3', connectS3);
});
