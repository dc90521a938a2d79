import type { Camera, LegendWords, Painter, ShownState } from "../render/index";
import {
  type AxisScales,
  axisScales,
  type Colours,
  geometryOf,
  type Scale,
  type TransferFunction,
  transferToMessage,
  type Vec3,
} from "../volume/index";
import {
  type ControlMessage,
  type Crop,
  encodeAskSeries,
  encodePick,
  type FieldMessage,
  linearField,
  logarithmicField,
  type NoticeMessage,
  type PlanMessage,
  type ProxyChoice,
  type SourceInfo,
  type SteerAction,
  type StepSpan,
  type Up,
} from "../wire/index";
import { type ConnectionState, Session } from "../worker/index";
import { Address } from "./address";
import { Announcements } from "./announcements";
import { Attention } from "./attention";
import type { Edits } from "./edits";
import { Eye } from "./eye";
import { FieldStates } from "./field-states";
import { type Absence, type FreshnessShown, FreshnessState } from "./freshness";
import { type ReadLink, readHash, writeHash } from "./hash";
import type { Behind } from "./lag";
import { legendsOf } from "./legends";
import type { LifelinesShown } from "./lifelines-state";
import { absentStepWords, isInside, linkWords, otherSourceWords } from "./link-words";
import { Meter } from "./meter";
import { type Notice, Notices } from "./notices";
import { OverTime, type OverTimeShown } from "./over-time";
import { PageTrace } from "./page-trace";
import { type PickedShown, Picking } from "./picking";
import { Playback, playsOn } from "./playback";
import { type SteeringShown, SteeringState } from "./steering-state";

/** What the controls show; a new object whenever something in it changes. */
export interface ViewerState {
  readonly connection: ConnectionState;
  readonly source: SourceInfo | null;
  readonly steps: StepSpan;
  readonly field: number;
  readonly step: number | null;
  readonly playing: boolean;
  /** Steps that playing goes on by. */
  readonly stride: number;
  readonly proxy: ProxyChoice;
  readonly panel: boolean;
  readonly axes: boolean;
  readonly transfer: TransferFunction | null;
  /** The field's colours by the server. */
  readonly sentColours: Colours | null;
  readonly fieldInfo: FieldMessage | null;
  readonly plan: PlanMessage | null;
  readonly steering: SteeringShown | null;
  readonly notice: Notice | null;
  /** The value that somebody has pointed at. */
  readonly picked: PickedShown | null;
  /** It over time, where that is looked at. */
  readonly overTime: OverTimeShown | null;
  /** The server has been there for long enough to be asked where the first picture is. */
  readonly isAwaited: boolean;
}

export interface Surroundings {
  /** There is room for the controls beside the picture. */
  readonly wide: boolean;
  /** Somebody is reading the notice. */
  isReading(): boolean;
  changed(state: ViewerState): void;
}

/** A picture that comes sooner is not waited for. */
const AWAITED_MS = 500;

type Welcome = Extract<ControlMessage, { kind: "welcome" }>;

/** The page's state: what the user wants, what the server said, and what follows from both. */
export class Viewer {
  readonly painter: Painter;
  readonly frames = new Meter();
  readonly received = new Meter();
  readonly #session: Session;
  readonly #onChange: (state: ViewerState) => void;
  readonly #address = new Address(() => this.#hash(), location, history);
  readonly #announcements = new Announcements();
  #state: ViewerState;
  readonly #eye: Eye;
  #sequence = 0;
  /** The first view that asks for the proxy that is chosen. */
  #chosenAt = 0;
  readonly #fields: FieldStates;
  readonly #notices: Notices;
  readonly #playback: Playback;
  readonly #steering = new SteeringState();
  readonly #freshness = new FreshnessState();
  readonly #picking = new Picking((number, spot) => this.#session.tell(encodePick(number, spot)));
  readonly #overTime = new OverTime((...question) => this.#session.tell(encodeAskSeries(...question)));
  readonly #attention = new Attention(document, () => this.#sendView());
  readonly #trace = new PageTrace((message) => this.#session.tell(message));
  /** Of the source's own fields: themselves, or their logarithms. */
  readonly #lastShown = new Map<number, number>();
  #scales: AxisScales | null = null;
  #legends: readonly LegendWords[] = [];
  /** What the page was opened with. */
  readonly #link: ReadLink;
  #awaitedTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(painter: Painter, base: URL, token: string, { wide, isReading, changed }: Surroundings) {
    const link = readHash(base.hash);
    this.painter = painter;
    this.#onChange = changed;
    this.#notices = new Notices((notice) => this.#set({ notice }), isReading);
    this.#eye = new Eye(
      link.camera,
      link,
      () => painter.aspect,
      () => this.#sendView(),
    );
    this.#fields = new FieldStates(link.transfer, link.others);
    this.#playback = new Playback(
      () => this.#state,
      (step) => (step === null ? this.#set({ playing: false }) : this.#wantStep(step, true)),
    );
    this.#state = {
      connection: { kind: "connecting", before: null },
      source: null,
      steps: { first: 0, last: 0 },
      field: 0,
      step: link.step ?? null,
      playing: link.playing,
      stride: link.stride,
      proxy: link.proxy,
      panel: link.panel ?? wide,
      axes: link.axes,
      transfer: null,
      sentColours: null,
      fieldInfo: null,
      plan: null,
      steering: null,
      notice: null,
      picked: null,
      overTime: null,
      isAwaited: false,
    };
    this.#link = link;
    painter.onFrame = (shown) => this.#frameDrawn(shown);
    this.#session = new Session(base, token, painter.hasSingles, {
      onState: (connection) => this.#connection(connection),
      onWelcome: (welcome) => this.#welcome(welcome),
      onControl: (message) => this.#control(message),
      onPart: (part, group, { at, bytes }) => {
        painter.accept(part, group);
        this.#trace.part(part.header.step, at, bytes);
      },
      onReceived: (bytes) => this.received.add(performance.now(), bytes),
    });
    painter.look(this.#eye.camera, this.#sequence);
    this.#session.connect();
  }

  get state(): ViewerState {
    return this.#state;
  }

  /** How old the step on the screen is, and how far behind; `null` while there is none. */
  get behind(): Behind | null {
    const { step } = this.painter.shown;
    if (step === null) return null;
    const now = performance.now();
    const ageMs = this.freshness?.ageMs ?? this.#announcements.ageMs(step, now);
    return { ageMs, steps: Math.max(0, this.#state.steps.last - step) };
  }

  /** The newest step is asked for, and comes as soon as it can. */
  get isFollowing(): boolean {
    const { source, connection } = this.#state;
    return source?.live === true && connection.kind === "open" && this.#stepAskedFor === null;
  }

  /** How fresh the step on the screen is, if the server has said so. */
  get freshness(): FreshnessShown | null {
    return this.#freshness.of(this.painter.shown.step, performance.now());
  }

  /** Whether ranks of the simulation are gone. */
  get absence(): Absence | null {
    return this.#freshness.absence(this.#state.steps.last);
  }

  /** What the latest steps went through, while that is watched. */
  get lifelines(): LifelinesShown | null {
    return this.#trace.shown();
  }

  watchLifelines(on: boolean): void {
    this.#trace.watch(on);
  }

  get camera(): Camera {
    return this.#eye.camera;
  }

  get sequence(): number {
    return this.#sequence;
  }

  orbit(azimuth: number, elevation: number): void {
    this.#eye.orbit(azimuth, elevation);
  }

  pan(right: number, up: number): void {
    this.#eye.pan(right, up);
  }

  zoom(factor: number): void {
    this.#eye.zoom(factor);
  }

  goHome(): void {
    this.#eye.goHome();
  }

  /** Shows axes so many times as long as they are. */
  stretch(times: Vec3): void {
    const { source } = this.#state;
    if (!source) return;
    this.#eye.stretch(times, geometryOf(source.grid, times).edges);
    this.#onChange(this.#state);
  }

  /** Shows a part of the box. */
  crop(crop: Crop): void {
    this.#eye.crop(crop);
    this.#onChange(this.#state);
  }

  /** Shows another axis upwards. */
  stand(up: Up): void {
    this.#eye.stand(up);
    this.#onChange(this.#state);
  }

  /** Asks for the value at a place of the picture, in shares of its width and height from the upper left corner. */
  point(at: readonly [number, number]): void {
    if (!this.#state.source) return;
    this.#picking.point({ ray: { camera: this.#eye.camera, aspect: this.painter.aspect, at } });
    this.#showPicked();
  }

  endPointing(): void {
    if (this.#picking.clear()) this.#foundAnother();
  }

  /** Shows what is pointed at over time, or no more. */
  togglePlot(): void {
    this.#overTime.watch(!this.#overTime.isWatched);
    this.#showPicked();
  }

  #foundAnother(): void {
    this.#overTime.follow(this.#picking.found);
    this.#showPicked();
  }

  #showPicked(): void {
    const { source } = this.#state;
    const picked = source && this.#scales && this.#picking.shown(source, this.#scales);
    this.#set({ picked, overTime: source && this.#overTime.shown(source) });
  }

  /** The picture's size changed. */
  resize(cssWidth: number, cssHeight: number, pixelRatio: number): void {
    this.painter.resize(cssWidth, cssHeight, pixelRatio);
    this.#eye.fit();
    this.#sendView();
  }

  /** One of the source's own fields, on the scale on which it was seen last. */
  chooseField(field: number): void {
    this.#showField(this.#lastShown.get(field) ?? field);
  }

  /** Of the field that is shown. */
  chooseScale(scale: Scale): void {
    const { source, field } = this.#state;
    if (!source) return;
    const own = linearField(source.fields, field);
    this.#showField(scale === "logarithmic" ? (logarithmicField(source.fields, own) ?? own) : own);
  }

  #showField(field: number): void {
    const { source } = this.#state;
    if (!source?.fields[field]) return;
    this.#lastShown.set(linearField(source.fields, this.#state.field), this.#state.field);
    this.#lastShown.set(linearField(source.fields, field), field);
    this.#notices.pass();
    this.painter.want({ field, step: this.#state.step, proxy: this.#state.proxy });
    this.#set({ field, ...this.#knownOf(field) });
    this.#sendView();
  }

  /** `goesOn`: as part of the edit before. */
  setTransfer(transfer: TransferFunction, goesOn = false): void {
    this.#fields.edit(this.#state.field, transfer, goesOn);
    this.#changeTransfer(transfer);
  }

  chooseColours(colours: Colours): void {
    const { transfer } = this.#state;
    if (transfer) this.setTransfer({ ...transfer, colours });
  }

  chooseSentColours(): void {
    const { sentColours } = this.#state;
    if (sentColours) this.chooseColours(sentColours);
  }

  resetTransfer(): void {
    this.#changeTransfer(this.#fields.reset(this.#state.field));
  }

  /** Takes the last edit of the field's transfer function back. */
  undo(): void {
    this.#changeTransfer(this.#fields.undo(this.#state.field));
  }

  /** Makes the edit again that was taken back last. */
  redo(): void {
    this.#changeTransfer(this.#fields.redo(this.#state.field));
  }

  /** Of the transfer function of the field that is shown. */
  get edits(): Pick<Edits, "canUndo" | "canRedo"> {
    return this.#fields.edits(this.#state.field);
  }

  /** That of the field that is shown; `null` where it stays. */
  #changeTransfer(transfer: TransferFunction | null): void {
    if (!transfer) return;
    this.#applyTransfer(this.#state.field, transfer);
    this.#sendView();
  }

  chooseProxy(proxy: ProxyChoice): void {
    this.#set({ proxy });
    this.painter.want({ field: this.#state.field, step: this.#state.step, proxy });
    this.#sendView();
    this.#chosenAt = this.#sequence;
  }

  /** Asks something of the simulation; what comes of it is told by the server. */
  steer(action: SteerAction): void {
    if (this.#state.connection.kind !== "open" || !this.#session.steer(action)) return;
    this.#steering.ask(action);
    this.#notices.pass();
    this.#set({ steering: this.#steeringShown() });
  }

  togglePanel(): void {
    this.#set({ panel: !this.#state.panel });
  }

  toggleAxes(): void {
    this.#set({ axes: !this.#state.axes });
  }

  /** Before the page goes. */
  saveAddress(): void {
    this.#address.flush();
  }

  dismissNotice(): void {
    this.#notices.dismiss();
  }

  /** Live: pause at what is shown, or follow again. Files: start or stop advancing. */
  togglePlay(): void {
    const { source, step, steps, playing } = this.#state;
    // The one that is seen, even if the server has let go of it.
    if (source?.live && step === null) return this.#wantStep(this.painter.shown.step ?? steps.last, false);
    if (playing) return this.#set({ playing: false });
    const atEnd = (step ?? steps.last) >= steps.last;
    if (source?.live && atEnd) return this.follow();
    if (steps.first === steps.last) return;
    this.#wantStep(atEnd ? steps.first : (step ?? steps.last), true);
    this.#playback.advance();
  }

  chooseStride(stride: number): void {
    this.#set({ stride });
  }

  stepBy(delta: number): void {
    this.goTo((this.#state.step ?? this.painter.shown.step ?? this.#state.steps.last) + delta);
  }

  goTo(step: number): void {
    const { first, last } = this.#state.steps;
    this.#wantStep(Math.min(last, Math.max(first, Math.round(step))), false);
  }

  /** Live: the newest from here on. To a file none is added. */
  follow(): void {
    if (this.#state.source?.live) this.#wantStep(null, false);
  }

  #wantStep(step: number | null, playing: boolean): void {
    this.#notices.pass();
    this.#set({ step, playing });
    this.painter.want({ field: this.#state.field, step, proxy: this.#state.proxy });
    this.#sendView();
  }

  /** Everything that changes the view passes here: the picture first, then the server. */
  #sendView(): void {
    this.#sequence += 1;
    this.painter.look(this.#eye.camera, this.#sequence);
    this.#saveHash();
    const { source, transfer, field, proxy } = this.#state;
    if (!source) return;
    const [width, height] = this.painter.size;
    this.#session.send({
      sequence: this.#sequence,
      camera: this.#eye.camera,
      viewport: [width, height],
      field,
      step: this.#stepAskedFor,
      moving: this.#eye.isMoving,
      // A keyframe through a transfer function that nobody wants would be made and sent in vain.
      proxy: transfer ? proxy : "bricks",
      transfer_function: transfer ? transferToMessage(transfer) : neutralTransfer,
    });
  }

  /** A page that follows and that nobody sees makes do with the newest step there is: those that come would be sent in vain. */
  get #stepAskedFor(): number | null {
    const { step, steps } = this.#state;
    return step === null && this.#attention.isAway ? steps.last : step;
  }

  #steeringShown(): SteeringShown | null {
    return this.#steering.shown(this.absence);
  }

  #connection(connection: ConnectionState): void {
    const { kind } = connection;
    if (kind === "lost" || kind === "refused" || kind === "unreadable") {
      this.#steering.forget();
      this.#notices.pass();
    }
    this.#await(kind === "open");
    this.#set({ connection, steering: this.#steeringShown(), isAwaited: false });
  }

  #await(isOpen: boolean): void {
    if (this.#awaitedTimer !== null) clearTimeout(this.#awaitedTimer);
    this.#awaitedTimer = isOpen ? setTimeout(() => this.#set({ isAwaited: true }), AWAITED_MS) : null;
  }

  #welcome(welcome: Welcome): void {
    const { source, steps } = welcome;
    const same = this.#fields.begin(source, steps);
    const field = this.#fieldIndex(source);
    if (!same) this.#lastShown.clear();
    this.#picking.begin(same);
    this.#overTime.begin(same);
    this.#scales = axisScales(source);
    this.#legends = legendsOf(source.fields);
    this.#eye.begin(source.along[2]?.isVertical ? "z" : "y");
    this.#eye.fit(geometryOf(source.grid, this.camera.stretch).edges);
    this.painter.begin(welcome.groups, source.grid, same);
    const before = this.#state.source;
    const isFirst = before === null;
    // Whoever was at a step of another source did not mean one of this simulation.
    const kept = same || !source.live ? this.#state.step : null;
    const wanted = (isFirst ? this.#link.step : kept) ?? (source.live ? null : steps.first);
    // The step at which it is paused is here, if not there any more.
    const isHere = same && source.live && wanted !== null && wanted === this.painter.shown.step && wanted < steps.first;
    const isAbsent = wanted !== null && !isHere && (wanted < steps.first || wanted > steps.last);
    const step = isAbsent ? (source.live ? null : Math.min(steps.last, Math.max(steps.first, wanted))) : wanted;
    if (same) this.#notices.pass();
    else this.#notices.dismiss();
    const inVain = isFirst ? linkWords(this.#link, source) : "";
    const told = [
      before && !same ? otherSourceWords(source) : "",
      isAbsent ? absentStepWords(wanted, steps, source.live, !isFirst) : "",
      inVain,
    ].filter((words) => words !== "");
    // What the link itself says is looked into for as long as it takes.
    const severity = isFirst ? "info" : "warning";
    if (told.length > 0) this.#notices.tell({ severity, text: told.join(" "), stays: inVain !== "" });
    if (!same) this.#announcements.clear();
    this.#announce(steps);
    const playing = this.#state.playing && (same || isFirst) && step !== null;
    this.#steering.begin(welcome.session, same, welcome.steers);
    this.#freshness.clear();
    this.#trace.begin(welcome.trace);
    this.painter.want({ field, step, proxy: this.#state.proxy });
    const known = this.#knownOf(field);
    const plan = same ? this.#state.plan : null;
    this.#set({ source, steps, field, step, ...known, plan, playing, steering: this.#steeringShown() });
    this.#sendView();
    const { mark } = this.#link;
    if (isFirst && mark && isInside(mark, source.grid)) this.#picking.point({ place: mark });
    if (isFirst) this.#overTime.watch(this.#link.plot);
    this.#showPicked();
  }

  #knownOf(field: number): Pick<ViewerState, "fieldInfo" | "transfer" | "sentColours"> {
    const fields = this.#fields;
    return {
      fieldInfo: fields.message(field),
      transfer: fields.transfer(field),
      sentColours: fields.sentColours(field),
    };
  }

  #fieldIndex(source: SourceInfo): number {
    const named = this.#state.source?.fields[this.#state.field]?.name ?? this.#link.field;
    return Math.max(
      0,
      source.fields.findIndex((field) => field.name === named),
    );
  }

  #control(message: Exclude<ControlMessage, Welcome>): void {
    switch (message.kind) {
      case "steps":
        return this.#newSteps(message.steps);
      case "field":
        return this.#newField(message);
      case "plan":
        // Not when they are chosen: another choice may come before the server hears of this one.
        if (this.#state.proxy === "bricks" && message.view >= this.#chosenAt) this.painter.refuseKeyframes();
        return this.#set({ plan: message });
      case "steering":
        this.#steering.receive(message);
        return this.#set({ steering: this.#steeringShown() });
      case "clock":
      case "events":
        return this.#trace.receive(message);
      case "freshness":
        this.#freshness.receive(message, performance.now());
        return this.#set({ steering: this.#steeringShown() });
      case "picked":
        if (this.#picking.receive(message)) this.#foundAnother();
        return;
      case "series":
        if (this.#overTime.receive(message)) this.#showPicked();
        return;
      case "notice":
        return this.#noticed(message);
    }
  }

  #noticed(notice: NoticeMessage): void {
    const { playing, field, step } = this.#state;
    const { severity, text, failed } = notice;
    // What was asked of the simulation may be refused.
    if (severity === "error" && !failed) this.#steering.forget();
    this.#set({ playing: playing && playsOn(notice, field, step), steering: this.#steeringShown() });
    this.#notices.tell({ severity, text });
  }

  #newSteps(steps: StepSpan): void {
    const { step, playing } = this.#state;
    if (steps.last < this.#state.steps.last) this.#restart();
    this.#announce(steps);
    this.#set({ steps });
    if (this.absence) this.#set({ steering: this.#steeringShown() });
    if (!playing || step === null || step >= steps.first) return;
    // Who is slower than the simulation would never see a step.
    this.follow();
    this.#notices.tell({ severity: "warning", text: `Step ${step} is gone: following the newest.` });
  }

  /** The simulation began anew: what is known of its steps is of the run before. */
  #restart(): void {
    this.painter.restart();
    this.#freshness.clear();
    this.#announcements.clear();
    this.#overTime.restart();
  }

  #announce({ last }: StepSpan): void {
    this.#announcements.tell(last, performance.now());
  }

  #newField(message: FieldMessage): void {
    const isShown = message.field === this.#state.field;
    const transfer = this.#fields.receive(message, isShown);
    if (isShown) this.#set({ fieldInfo: message, sentColours: this.#fields.sentColours(message.field) });
    if (!transfer) return;
    this.#applyTransfer(message.field, transfer);
    if (isShown) this.#sendView();
  }

  #applyTransfer(field: number, transfer: TransferFunction): void {
    this.painter.setTransfer(field, transfer, this.#fields.isEdited(field));
    if (field === this.#state.field) this.#set({ transfer });
  }

  #frameDrawn(shown: ShownState): void {
    this.frames.add(performance.now(), 1);
    this.#trace.frame(shown.step);
    if (this.#picking.follow(shown.field, shown.step)) this.#showPicked();
    if (this.#playback.frame(shown)) this.#onChange(this.#state);
  }

  #set(patch: Partial<ViewerState>): void {
    this.#state = { ...this.#state, ...patch };
    this.#annotate();
    this.#saveHash();
    this.#onChange(this.#state);
  }

  #annotate(): void {
    const { axes, picked } = this.#state;
    this.painter.annotate({ scales: this.#scales, legends: this.#legends, axes, mark: picked?.mark ?? null });
  }

  #saveHash(): void {
    if (this.#state.source) this.#address.note();
  }

  #hash(): string {
    const { source, field } = this.#state;
    const name = source?.fields[field]?.name ?? null;
    const transfers = { transfer: this.#fields.linked(field), others: this.#fields.linkedOthers(field) };
    const { camera, saidUp: up } = this.#eye;
    const [mark, plot] = [this.#picking.found?.place ?? null, this.#overTime.isWatched];
    return writeHash({ ...this.#state, camera, up, mark, plot, field: name, ...transfers });
  }
}

const neutralTransfer = {
  range: [0, 1],
  points: [
    [0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1],
  ],
} as const;
