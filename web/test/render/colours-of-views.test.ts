import { expect, test } from "vitest";
import { ColoursOfViews } from "../../src/render/colours-of-views";

const own = (transfer: string, field = 0) => ({ field, transfer, isOwn: true });
const sent = (transfer: string, field = 0) => ({ field, transfer, isOwn: false });

/** Of views 1 to 6, those whose colours are the present ones. */
const present = (colours: ColoursOfViews) => [1, 2, 3, 4, 5, 6].filter((view) => colours.areThoseOf(view));

test("what was made for a view serves while its colours are those of now", () => {
  const colours = new ColoursOfViews();
  expect(present(colours)).toEqual([1, 2, 3, 4, 5, 6]);
  colours.change(0, own("viridis"));
  colours.change(2, own("inferno"));
  expect(present(colours)).toEqual([3, 4, 5, 6]);
  colours.change(4, own("viridis"));
  expect(present(colours)).toEqual([1, 2, 5, 6]);
});

test("an edit that changes nothing makes nothing invalid", () => {
  const colours = new ColoursOfViews();
  colours.change(0, sent("viridis"));
  colours.change(3, own("viridis"));
  expect(present(colours)).toEqual([1, 2, 3, 4, 5, 6]);
});

test("nobody was asked for what was in force between two views", () => {
  const colours = new ColoursOfViews();
  colours.change(0, own("viridis"));
  colours.change(2, own("inferno"));
  colours.change(2, own("viridis"));
  expect(present(colours)).toEqual([1, 2, 3, 4, 5, 6]);
});

test("the server's function may follow its data, until the user edits it", () => {
  const colours = new ColoursOfViews();
  colours.change(0, sent("0 to 1"));
  colours.change(2, sent("0 to 2"));
  expect(present(colours)).toEqual([1, 2, 3, 4, 5, 6]);
  colours.change(4, own("0 to 1.5"));
  expect(present(colours)).toEqual([5, 6]);
  colours.change(5, sent("0 to 3"));
  expect(present(colours)).toEqual([1, 2, 3, 4, 6]);
});

test("another field has other colours, whatever they are", () => {
  const colours = new ColoursOfViews();
  colours.change(0, sent("viridis"));
  colours.change(3, sent("viridis", 1));
  expect(present(colours)).toEqual([4, 5, 6]);
});

test("what is older than all that is remembered does not serve", () => {
  const colours = new ColoursOfViews();
  for (let view = 0; view < 1000; view++) colours.change(view, own("viridis"));
  expect([700, 800, 1001].map((view) => colours.areThoseOf(view))).toEqual([false, true, true]);
});
